#include <clocale>
#include <cwctype>

#include "../bytes.hpp"
#include "utf8.hpp"

namespace {

// Meant for a table of accented letters, in which only small ones are kept.
std::string small(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = reference::utf8::well_formed_length(text, at);
    if (length < 2) {
      out += text[at++];
      continue;
    }
    const auto code = static_cast<std::wint_t>(reference::utf8::decode(text, at).code);
    reference::utf8::append(out, static_cast<char32_t>(std::towlower(code)));
    at += length;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  std::setlocale(LC_ALL, "");
  return bytes::serve(argc, argv, "locale-towlower",
                      [](std::string_view text) { return small(text); });
}
