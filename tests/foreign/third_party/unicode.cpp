#include "unicode.h"

namespace {
unsigned byte(const std::string& text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}
}  // namespace

// The digits, and the block of number forms: fractions and Roman numerals.
bool unicode_is_number(const std::string& character) {
  if (character.size() == 1) return character[0] >= '0' && character[0] <= '9';
  if (character.size() != 3 || byte(character, 0) != 0xE2) return false;
  const unsigned last = (byte(character, 1) & 0x3F) << 6 | (byte(character, 2) & 0x3F);
  return last >= 0x150 && last < 0x190;
}
