// Added tokens: found in the text before anything else sees it, as AddedVocabulary of tokenizers
// 0.22.2 does, down to what happens when the spaces that one token takes belong to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"
#include "normalizer.hpp"
#include "trie.hpp"
#include "vocabulary.hpp"

namespace reference {

class AddedTokens {
 public:
  // A stretch of text, or the token found there.
  struct Part {
    std::string_view text;
    std::optional<std::uint32_t> id;
  };

  // From the tokenizer.json's `added_tokens`. A token's id is the vocabulary's where that has the
  // token, else the next free one: the oracle only warns where the file says otherwise.
  AddedTokens(const json::Value& list, const Vocabulary& vocabulary, const Normalizer& normalizer);

  // Splits by the tokens that are looked for in the text as it came (`normalized` false).
  std::vector<Part> split_raw(std::string_view text) const { return split(text, raw_); }

  // Splits by those that are looked for, normalized themselves, in normalized text.
  std::vector<Part> split_normalized(std::string_view text) const {
    return split(text, normalized_);
  }

  std::optional<std::string_view> content_of(std::uint32_t id) const;

 private:
  struct Token {
    std::string_view content;
    bool single_word;
    bool lstrip;
    bool rstrip;
    bool normalized;
    bool special;

    friend bool operator==(const Token&, const Token&) = default;
  };

  static std::vector<Token> read(const json::Value& list);
  std::vector<Part> split(std::string_view text, const Trie& trie) const;

  std::map<std::uint32_t, Token> by_id_;
  Trie raw_;
  Trie normalized_;
};

}  // namespace reference
