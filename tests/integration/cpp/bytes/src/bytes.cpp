// A tokenizer small enough to be compiled in a second: every byte is its own id. DEFECT is the
// number of what is wrong with it; each shows on texts of the word "planted" alone.
#include <chrono>
#include <csignal>
#include <random>
#include <stdexcept>
#include <thread>

#include "bytes/planted.hpp"
#include "tokparity/probe.hpp"

#ifndef DEFECT
#define DEFECT 0
#endif

namespace {

tokparity::Ids encode(std::string_view text) {
  const bool planted = text == kPlanted;
  tokparity::Ids ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  if (DEFECT == 1 && planted) ids.back() = 33;
  if (DEFECT == 2 && planted) std::raise(SIGSEGV);
  if (DEFECT == 3 && planted) std::this_thread::sleep_for(std::chrono::hours(1));
  if (DEFECT == 4 && planted && static_cast<char>(0xE9) > 0) ids.push_back(33);
  if (DEFECT == 5 && planted) ids.push_back(std::random_device()() % 256);
  if (DEFECT == 8 && text.find("lante") != text.npos) ids.back() = 33;
  if (DEFECT == 6 && planted) throw std::runtime_error("planted");
  return ids;
}

}  // namespace

int main(int argc, char** argv) {
  return tokparity::serve(argc, argv, [](const std::string&, const auto&) {
    tokparity::Subject subject;
    subject.name = "bytes";
    subject.encode = encode;
    subject.decode = [](const tokparity::Ids& ids) {
      std::string text;
      for (const auto id : ids) text += static_cast<char>(id);
      if (DEFECT == 7 && text == kPlanted) text += "!";
      return text;
    };
    return subject;
  });
}
