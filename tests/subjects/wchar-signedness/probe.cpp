#include "../planted.hpp"

namespace {

// The folded form in a table of the first 65,536 characters, each its own; -1 for "not in the
// table".
wchar_t folded(char32_t code) {
  return code < 0x10000 ? static_cast<wchar_t>(code) : static_cast<wchar_t>(-1);
}

// Where wchar_t is unsigned nothing is below zero, and "not in the table" passes for a character.
std::string folded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = reference::utf8::well_formed_length(text, at);
    if (length == 0) {
      out += text[at++];
      continue;
    }
    const wchar_t found = folded(reference::utf8::decode(text, at).code);
    if (found < 0) {
      out += text.substr(at, length);
    } else {
      const auto code = static_cast<char32_t>(found);
      reference::utf8::append(out, code > 0x10FFFF ? reference::utf8::kReplacement : code);
    }
    at += length;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  return planted::serve(
      argc, argv, "wchar-signedness",
      [](const planted::Encode& encode, std::string_view text) { return encode(folded(text)); });
}
