// UTF-8, byte by byte in std::uint8_t: nothing here depends on the signedness of char.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reference::utf8 {

constexpr char32_t kReplacement = 0xFFFD;

inline std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

struct Decoded {
  char32_t code;
  std::size_t length;  // in bytes; never 0
};

// The character at `at`, which must be the first byte of a character of valid UTF-8.
Decoded decode(std::string_view valid, std::size_t at);

// The length of the well-formed character at `at` (1 to 4), or 0 where there is none.
std::size_t well_formed_length(std::string_view text, std::size_t at);

// Where the character that ends at `at` begins; `at` must be above 0, the text valid.
std::size_t before(std::string_view valid, std::size_t at);

void append(std::string& text, char32_t code);

bool is_valid(std::string_view text);

// Valid UTF-8 with one U+FFFD for each maximal subpart of an ill-formed sequence, as Unicode
// recommends ("U+FFFD Substitution of Maximal Subparts") and as Rust's from_utf8_lossy does.
std::string lossy(std::string_view text);

}  // namespace reference::utf8
