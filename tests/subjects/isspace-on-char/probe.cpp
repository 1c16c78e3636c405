#include "../planted.hpp"

namespace {

// isspace of a Latin-1 locale beyond ASCII: next line and no-break space. It takes an int, as
// <cctype> does, and is handed a plain char: a negative one is in no table.
bool is_wide_space(int c) { return c == 0x85 || c == 0xA0; }

// Takes no-break spaces off the end. Where char is unsigned that takes the last byte of 고 (EA B3
// A0).
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_wide_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  return planted::serve(
      argc, argv, "isspace-on-char",
      [](const planted::Encode& encode, std::string_view text) { return encode(trimmed(text)); });
}
