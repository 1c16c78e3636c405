#include "unicode.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

namespace reference::unicode {
namespace {

constexpr std::size_t kCodePoints = 0x110000;
constexpr std::uint8_t kClassBits = 0x0F;
constexpr std::uint8_t kWord = 0x10;

struct Range {
  char32_t first;
  char32_t last;
  std::uint8_t value;
};

struct Decomposition {
  char32_t code;
  std::u32string_view characters;
};

struct Composition {
  char32_t first;
  char32_t second;
  char32_t composite;
};

constexpr Range kClasses[] = {
#include "unicode_classes.inc"
};

constexpr Range kCombining[] = {
#include "unicode_combining.inc"
};

constexpr Decomposition kCanonical[] = {
#include "unicode_canonical.inc"
};

constexpr Decomposition kCompatibility[] = {
#include "unicode_compatibility.inc"
};

constexpr Composition kCompositions[] = {
#include "unicode_compositions.inc"
};

// One byte a code point: the look-up of a class is the inner loop of every pattern.
std::vector<std::uint8_t> spread(std::span<const Range> ranges) {
  std::vector<std::uint8_t> values(kCodePoints, 0);
  for (const Range& range : ranges) {
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(range.first),
              values.begin() + static_cast<std::ptrdiff_t>(range.last) + 1, range.value);
  }
  return values;
}

std::uint8_t class_value(char32_t code) {
  static const std::vector<std::uint8_t> values = spread(kClasses);
  return values[code];
}

std::u32string_view find(std::span<const Decomposition> table, char32_t code) {
  const auto found = std::lower_bound(
      table.begin(), table.end(), code,
      [](const Decomposition& entry, char32_t wanted) { return entry.code < wanted; });
  return found != table.end() && found->code == code ? found->characters : std::u32string_view();
}

// Conjoining jamo: The Unicode Standard, section 3.12.
constexpr char32_t kSyllableBase = 0xAC00;
constexpr char32_t kLeadBase = 0x1100;
constexpr char32_t kVowelBase = 0x1161;
constexpr char32_t kTrailBase = 0x11A7;
constexpr char32_t kLeads = 19;
constexpr char32_t kVowels = 21;
constexpr char32_t kTrails = 28;
constexpr char32_t kSyllables = kLeads * kVowels * kTrails;

char32_t composite_hangul(char32_t first, char32_t second) {
  if (first - kLeadBase < kLeads && second - kVowelBase < kVowels) {
    return kSyllableBase + ((first - kLeadBase) * kVowels + (second - kVowelBase)) * kTrails;
  }
  const bool open = first - kSyllableBase < kSyllables && (first - kSyllableBase) % kTrails == 0;
  if (open && second > kTrailBase && second < kTrailBase + kTrails) {
    return first + (second - kTrailBase);
  }
  return 0;
}

}  // namespace

Mask class_mask(char32_t code) { return static_cast<Mask>(1U << (class_value(code) & kClassBits)); }

bool is_word(char32_t code) { return (class_value(code) & kWord) != 0; }

bool is_space(char32_t code) { return (class_value(code) & kClassBits) == kSpace; }

std::uint8_t combining_class(char32_t code) {
  static const std::vector<std::uint8_t> values = spread(kCombining);
  return values[code];
}

std::u32string_view canonical_decomposition(char32_t code) { return find(kCanonical, code); }

std::u32string_view compatibility_decomposition(char32_t code) {
  const std::u32string_view found = find(kCompatibility, code);
  return found.empty() ? find(kCanonical, code) : found;
}

char32_t composite(char32_t first, char32_t second) {
  if (const char32_t hangul = composite_hangul(first, second)) return hangul;
  const auto found = std::lower_bound(
      std::begin(kCompositions), std::end(kCompositions), Composition{first, second, 0},
      [](const Composition& a, const Composition& b) {
        return a.first != b.first ? a.first < b.first : a.second < b.second;
      });
  const bool hit =
      found != std::end(kCompositions) && found->first == first && found->second == second;
  return hit ? found->composite : 0;
}

}  // namespace reference::unicode
