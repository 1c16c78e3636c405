// The patterns that real tokenizers split by, each matched by hand: a regex engine would recurse,
// and would bring its own Unicode.
#pragma once

#include <cstddef>
#include <string_view>

#include "characters.hpp"

namespace reference {

// Where the pattern's match that begins at character `at` ends; `at` itself where there is none.
using Pattern = std::size_t (*)(const Characters& text, std::size_t at);

// The pattern of exactly that regular expression, or nullptr.
Pattern pattern_of(std::string_view regex);

// What a ByteLevel pre-tokenizer with use_regex splits by: GPT-2's.
std::size_t match_gpt2(const Characters& text, std::size_t at);

}  // namespace reference
