#include "pattern.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace reference {
namespace {

using unicode::kLetters;
using unicode::Mask;

constexpr Mask kMarks = unicode::mask_of(unicode::kMark);
constexpr Mask kNumbers = unicode::mask_of(unicode::kNumber);
constexpr Mask kSpaces = unicode::mask_of(unicode::kSpace);
constexpr Mask kPunctuationOrSymbol =
    unicode::mask_of(unicode::kPunctuation) | unicode::mask_of(unicode::kSymbol);
constexpr Mask kAnything = 0xFFFF;
constexpr Mask kUncased =
    unicode::mask_of(unicode::kModifier) | unicode::mask_of(unicode::kOtherLetter) | kMarks;
constexpr Mask kUpperRun =
    unicode::mask_of(unicode::kUpper) | unicode::mask_of(unicode::kTitle) | kUncased;
constexpr Mask kLowerRun = unicode::mask_of(unicode::kLower) | kUncased;

constexpr Mask except(Mask classes) { return static_cast<Mask>(kAnything & ~classes); }

// Case folding as Oniguruma does it for these letters: ASCII, and the long s for s.
char32_t folded(char32_t code) {
  if (code >= 'A' && code <= 'Z') return code + ('a' - 'A');
  return code == 0x17F ? U's' : code;
}

char32_t unfolded(char32_t code) { return code; }

// 's|'t|'re|'ve|'m|'ll|'d
template <typename Fold>
std::size_t contraction(const Characters& text, std::size_t at, Fold fold) {
  if (!text.is_code(at, '\'') || at + 1 >= text.size()) return at;
  const char32_t first = fold(text.code(at + 1));
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  const char32_t second = at + 2 < text.size() ? fold(text.code(at + 2)) : 0;
  const bool two =
      ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
  return two ? at + 3 : at;
}

// [^\r\n…]?RUN+ where a character of RUN is never one that the optional first may be, or where it
// makes no difference to the end.
std::size_t prefixed_run(const Characters& text, std::size_t at, Mask no_prefix, Mask run) {
  if (at < text.size() && !text.is_newline(at) && !text.is(at, no_prefix) && text.is(at + 1, run)) {
    return text.skip(at + 1, run);
  }
  return text.skip(at, run);
}

// CLASS{1,most}
std::size_t bounded_run(const Characters& text, std::size_t at, Mask classes, std::size_t most) {
  std::size_t end = at;
  while (end - at < most && text.is(end, classes)) ++end;
  return end;
}

//  ?CLASS+
std::size_t spaced_run(const Characters& text, std::size_t at, Mask classes) {
  const std::size_t start = text.is_code(at, ' ') ? at + 1 : at;
  return text.is(start, classes) ? text.skip(start, classes) : at;
}

//  ?CLASS+[\r\n]* — or [\r\n/]*
std::size_t spaced_run_and_newlines(const Characters& text, std::size_t at, Mask classes,
                                    bool slashes = false) {
  std::size_t end = spaced_run(text, at, classes);
  if (end == at) return at;
  while (text.is_newline(end) || (slashes && text.is_code(end, '/'))) ++end;
  return end;
}

// \s+(?!\S)|\s+
std::size_t spaces(const Characters& text, std::size_t at) {
  const std::size_t end = text.skip(at, kSpaces);
  return end < text.size() && end - at > 1 ? end - 1 : end;
}

// \s*[\r\n]+|\s+(?!\S)|\s+
std::size_t newlines_or_spaces(const Characters& text, std::size_t at) {
  for (std::size_t end = text.skip(at, kSpaces); end > at; --end) {
    if (text.is_newline(end - 1)) return end;
  }
  return spaces(text, at);
}

// What Llama-3's, Qwen2's and Qwen3.5's have in common.
std::size_t match_words(const Characters& text, std::size_t at, std::size_t digits, Mask letters) {
  if (const std::size_t end = contraction(text, at, folded); end != at) return end;
  if (const std::size_t end = prefixed_run(text, at, kLetters | kNumbers, letters); end != at) {
    return end;
  }
  if (const std::size_t end = bounded_run(text, at, kNumbers, digits); end != at) return end;
  const Mask rest = except(static_cast<Mask>(kSpaces | letters | kNumbers));
  if (const std::size_t end = spaced_run_and_newlines(text, at, rest); end != at) return end;
  return newlines_or_spaces(text, at);
}

std::size_t match_llama3(const Characters& text, std::size_t at) {
  return match_words(text, at, 3, kLetters);
}

std::size_t match_qwen2(const Characters& text, std::size_t at) {
  return match_words(text, at, 1, kLetters);
}

std::size_t match_qwen3_5(const Characters& text, std::size_t at) {
  return match_words(text, at, 1, kLetters | kMarks);
}

std::size_t match_deepseek_digits(const Characters& text, std::size_t at) {
  return bounded_run(text, at, kNumbers, 3);
}

std::size_t match_deepseek_cjk(const Characters& text, std::size_t at) {
  const auto is_cjk = [&](std::size_t i) {
    const char32_t code = i < text.size() ? text.code(i) : 0;
    return (code >= 0x4E00 && code <= 0x9FA5) || (code >= 0x3040 && code <= 0x30FF);
  };
  while (is_cjk(at)) ++at;
  return at;
}

std::size_t match_deepseek_words(const Characters& text, std::size_t at) {
  const auto is_ascii_letter = [&](std::size_t i) {
    const char32_t code = i < text.size() ? text.code(i) : 0;
    return (code >= 'A' && code <= 'Z') || (code >= 'a' && code <= 'z');
  };
  // The first set of the pattern is all of ASCII's punctuation and symbols.
  if (at < text.size() && text.code(at) < 0x80 && text.is(at, kPunctuationOrSymbol) &&
      is_ascii_letter(at + 1)) {
    std::size_t end = at + 1;
    while (is_ascii_letter(end)) ++end;
    return end;
  }
  if (const std::size_t end =
          prefixed_run(text, at, kLetters | kPunctuationOrSymbol, kLetters | kMarks);
      end != at) {
    return end;
  }
  if (const std::size_t end = spaced_run_and_newlines(text, at, kPunctuationOrSymbol); end != at) {
    return end;
  }
  return newlines_or_spaces(text, at);
}

// UPPER*LOWER+, where both sets hold the uncased letters and marks: UPPER* gives back the fewest
// characters that leave LOWER+ one.
std::size_t lower_word(const Characters& text, std::size_t at) {
  const std::size_t upper = text.skip(at, kUpperRun);
  if (text.is(upper, kLowerRun)) return text.skip(upper, kLowerRun);
  for (std::size_t end = upper; end > at; --end) {
    if (text.is(end - 1, kLowerRun)) return end;
  }
  return at;
}

// UPPER+LOWER*
std::size_t upper_word(const Characters& text, std::size_t at) {
  const std::size_t upper = text.skip(at, kUpperRun);
  return upper == at ? at : text.skip(upper, kLowerRun);
}

std::size_t match_o200k(const Characters& text, std::size_t at) {
  const bool may_prefix =
      at < text.size() && !text.is_newline(at) && !text.is(at, kLetters | kNumbers);
  for (const auto word : {lower_word, upper_word}) {
    for (const std::size_t start : {may_prefix ? at + 1 : at, at}) {
      if (const std::size_t end = word(text, start); end != start) {
        return contraction(text, end, folded);
      }
    }
  }
  if (const std::size_t end = bounded_run(text, at, kNumbers, 3); end != at) return end;
  const Mask rest = except(kSpaces | kLetters | kNumbers);
  if (const std::size_t end = spaced_run_and_newlines(text, at, rest, true); end != at) return end;
  return newlines_or_spaces(text, at);
}

struct Known {
  std::string_view regex;
  Pattern pattern;
};

constexpr Known kKnown[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", match_gpt2},
    // Also cl100k's, as GPT-3.5's and GPT-4's files write it.
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
     R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     match_llama3},
    // Qwen2, Qwen2.5, Qwen3.
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
     R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     match_qwen2},
    // Qwen3.5, Qwen3.6.
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
     R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     match_qwen3_5},
    // DeepSeek-V3: three, one after another. The line ends in the third's first set are raw.
    {R"(\p{N}{1,3})", match_deepseek_digits},
    {"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", match_deepseek_cjk},
    {"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
     "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
     "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
     match_deepseek_words},
    // o200k, gpt-oss.
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
     R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     match_o200k},
};

}  // namespace

std::size_t match_gpt2(const Characters& text, std::size_t at) {
  if (const std::size_t end = contraction(text, at, unfolded); end != at) return end;
  const Mask rest = except(kSpaces | kLetters | kNumbers);
  for (const Mask classes : {kLetters, kNumbers, rest}) {
    if (const std::size_t end = spaced_run(text, at, classes); end != at) return end;
  }
  return spaces(text, at);
}

Pattern pattern_of(std::string_view regex) {
  const auto* found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                   [&](const Known& one) { return one.regex == regex; });
  return found == std::end(kKnown) ? nullptr : found->pattern;
}

}  // namespace reference
