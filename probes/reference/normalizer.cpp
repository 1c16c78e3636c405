#include "normalizer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "part.hpp"
#include "unicode.hpp"
#include "utf8.hpp"

namespace reference {
namespace {

using Form = Normalizer::Form;

// Below U+00C0 nothing changes in NFC or NFD, below U+0300 nothing in NFC; U+00A0 is the first that
// a compatibility form changes.
char32_t first_that_changes(Form form) {
  switch (form) {
    case Form::kNfc:
      return 0x300;
    case Form::kNfd:
      return 0xC0;
    case Form::kNfkc:
    case Form::kNfkd:
      break;
  }
  return 0xA0;
}

bool changes_nothing(Form form, std::string_view text) {
  const char32_t limit = first_that_changes(form);
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, length] = utf8::decode(text, at);
    if (code >= limit) return false;
    at += length;
  }
  return true;
}

struct Character {
  char32_t code;
  std::uint8_t combining_class;
};

void push(std::vector<Character>& characters, char32_t code) {
  characters.push_back({code, unicode::combining_class(code)});
}

void push_decomposed(std::vector<Character>& characters, char32_t code, bool compatibility) {
  if (code < 0xA0) {
    characters.push_back({code, 0});
    return;
  }
  if (code >= 0xAC00 && code <= 0xD7A3) {
    const char32_t index = code - 0xAC00;
    push(characters, 0x1100 + index / (21 * 28));
    push(characters, 0x1161 + index % (21 * 28) / 28);
    if (index % 28 != 0) push(characters, 0x11A7 + index % 28);
    return;
  }
  const std::u32string_view decomposed = compatibility ? unicode::compatibility_decomposition(code)
                                                       : unicode::canonical_decomposition(code);
  if (decomposed.empty()) push(characters, code);
  for (const char32_t one : decomposed) push(characters, one);
}

void order_marks(std::vector<Character>& characters) {
  const auto is_starter = [](const Character& one) { return one.combining_class == 0; };
  for (auto at = characters.begin(); at != characters.end();) {
    at = std::find_if_not(at, characters.end(), is_starter);
    const auto end = std::find_if(at, characters.end(), is_starter);
    std::stable_sort(at, end, [](const Character& a, const Character& b) {
      return a.combining_class < b.combining_class;
    });
    at = end;
  }
}

// The Unicode Standard, section 3.11, D117: in place, over canonically ordered characters.
void compose(std::vector<Character>& characters) {
  std::size_t kept = 0;
  std::size_t starter = 0;
  bool has_starter = false;
  for (const Character one : characters) {
    if (has_starter) {
      // Blocked where a character between has no lower class; none is between when adjacent.
      const bool adjacent = kept == starter + 1;
      if (adjacent || characters[kept - 1].combining_class < one.combining_class) {
        if (const char32_t whole = unicode::composite(characters[starter].code, one.code)) {
          characters[starter] = {whole, unicode::combining_class(whole)};
          continue;
        }
      }
    }
    if (one.combining_class == 0) {
      starter = kept;
      has_starter = true;
    }
    characters[kept++] = one;
  }
  characters.resize(kept);
}

std::string normalized(Form form, std::string_view text) {
  if (changes_nothing(form, text)) return std::string(text);
  const bool compatibility = form == Form::kNfkc || form == Form::kNfkd;
  std::vector<Character> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, length] = utf8::decode(text, at);
    push_decomposed(characters, code, compatibility);
    at += length;
  }
  order_marks(characters);
  if (form == Form::kNfc || form == Form::kNfkc) compose(characters);
  std::string result;
  result.reserve(text.size());
  for (const Character one : characters) utf8::append(result, one.code);
  return result;
}

}  // namespace

Normalizer Normalizer::read(const json::Value& description) {
  Normalizer normalizer;
  for (const json::Value& part : flattened(description, "normalizer", "normalizers")) {
    const std::string_view type = type_of(part, "normalizer");
    if (type == "NFC") {
      normalizer.forms_.push_back(Form::kNfc);
    } else if (type == "NFD") {
      normalizer.forms_.push_back(Form::kNfd);
    } else if (type == "NFKC") {
      normalizer.forms_.push_back(Form::kNfkc);
    } else if (type == "NFKD") {
      normalizer.forms_.push_back(Form::kNfkd);
    } else {
      refuse("normalizer", type);
    }
  }
  return normalizer;
}

void Normalizer::leave_out_nfc() { std::erase(forms_, Form::kNfc); }

std::string Normalizer::apply(std::string_view text) const {
  std::string current(text);
  for (const Form form : forms_) current = normalized(form, current);
  return current;
}

}  // namespace reference
