// What the oracle knows of a character. Two versions of Unicode: see
// scripts/make_unicode_tables.py.
#pragma once

#include <cstdint>
#include <string_view>

namespace reference::unicode {

// Classes are disjoint, so that a set of them is a mask: \s is kSpace, \p{L} the five letters.
enum Class : std::uint8_t {
  kOther,
  kUpper,
  kLower,
  kTitle,
  kModifier,
  kOtherLetter,
  kMark,
  kNumber,
  kPunctuation,
  kSymbol,
  kSpace,
};

using Mask = std::uint16_t;

constexpr Mask mask_of(Class one) { return static_cast<Mask>(1U << one); }

constexpr Mask kLetters = mask_of(kUpper) | mask_of(kLower) | mask_of(kTitle) | mask_of(kModifier) |
                          mask_of(kOtherLetter);

// The class of a character as a mask of one bit (Unicode 16.0).
Mask class_mask(char32_t code);

// \w of Rust's regex crate: what the oracle looks for beside a single_word token (Unicode 16.0).
bool is_word(char32_t code);

// White_Space, which is also \s.
bool is_space(char32_t code);

// The canonical combining class (Unicode 9.0).
std::uint8_t combining_class(char32_t code);

// The full decomposition, Hangul left out; empty where the character is its own (Unicode 9.0).
std::u32string_view canonical_decomposition(char32_t code);
std::u32string_view compatibility_decomposition(char32_t code);

// The primary composite of a pair, Hangul included; 0 where there is none (Unicode 9.0).
char32_t composite(char32_t first, char32_t second);

}  // namespace reference::unicode
