// A subject whose every answer a test can predict: an id is a byte's value. The first subject
// argument selects how it is loaded; some texts make it misbehave. Nothing here depends on char's
// signedness.
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <tokparity/probe.hpp>

namespace {

const bool kNoiseBeforeMain = std::printf("noise from a static initialiser\n") > 0;

tokparity::Ids values(std::string_view text) {
  if (text == "throw") throw std::runtime_error("as asked: \xff\n");
  if (text == "throw nothing") throw std::runtime_error("");
  if (text == "throw int") throw 7;
  if (text == "unsupported") throw tokparity::Unsupported("this text");
  if (text == "noise") {
    std::cout << "ok 1 2 3\n" << std::flush;
    std::printf("ok 4 5 6\n");
    std::fflush(stdout);
  }
  if (text == "read") std::cin.get();
  if (text == "none") return {};
  if (text == "widest") return {0, 4294967295U};
  tokparity::Ids ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

std::string bytes(const tokparity::Ids& ids) {
  std::string text;
  for (const std::uint32_t id : ids) {
    if (id > 255) throw std::out_of_range("no byte has the id " + std::to_string(id));
    text.push_back(static_cast<char>(static_cast<unsigned char>(id)));
  }
  return text;
}

tokparity::Subject load(const std::string& path, const std::vector<std::string>& args) {
  const std::string how = args.empty() ? "" : args[0];
  if (how == "refuse") throw tokparity::Unsupported("no \"Unigram\" here");
  if (how == "throw") throw std::runtime_error("cannot read " + path);
  if (how == "throw int") throw 7;
  tokparity::Subject subject;
  subject.name = how == "name" && args.size() > 1 ? args[1] : "echo";
  subject.version = "0";
  if (how == "no encode") return subject;
  subject.encode = values;
  if (how == "encode only") return subject;
  subject.encode_special = [](std::string_view text) {
    tokparity::Ids ids = values(text);
    ids.insert(ids.begin(), 1000);
    return ids;
  };
  subject.decode = bytes;
  subject.normalize = [](std::string_view text) { return std::string(text.rbegin(), text.rend()); };
  subject.pretokenize = [](std::string_view text) {
    const std::size_t half = text.size() / 2;
    if (text.empty()) return std::vector<std::string>{};
    return std::vector<std::string>{std::string(text.substr(0, half)),
                                    std::string(text.substr(half))};
  };
  subject.request = [](std::string_view body) {
    return std::make_pair("<" + std::string(body) + ">", values(body));
  };
  return subject;
}

}  // namespace

int main(int argc, char** argv) {
  return kNoiseBeforeMain ? tokparity::serve(argc, argv, load) : 1;
}
