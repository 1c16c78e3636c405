// The model stage: byte-level BPE.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"
#include "merges.hpp"
#include "vocabulary.hpp"

namespace reference {

class Bpe {
 public:
  // From the tokenizer.json's `model`; throws tokparity::Unsupported naming what is not byte-level
  // BPE, json::Malformed where the description is wrong in itself.
  explicit Bpe(const json::Value& description);

  const Vocabulary& vocabulary() const { return vocabulary_; }

  // Appends the ids of one word, given as bytes. Throws std::runtime_error where the word needs an
  // unk_token that is not in the vocabulary. O(n log n) in the word's length.
  void append(std::string_view word, std::vector<std::uint32_t>& ids);

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  struct Symbol {
    std::uint32_t id;
    std::uint32_t before;  // index of a neighbour, or kNone
    std::uint32_t after;
    bool gone;
  };
  struct Candidate {
    std::uint32_t rank;
    std::uint32_t position;
    std::uint32_t id;
  };

  void start(std::string_view word);
  void push_symbol(std::uint32_t id);
  void consider(std::uint32_t left);
  void merge_all();

  Vocabulary vocabulary_;
  Merges merges_;
  bool ignore_merges_;
  bool fuse_unk_;
  std::optional<std::string_view> unk_token_;
  std::array<std::optional<std::uint32_t>, 256> byte_ids_;

  // Kept between words for their memory alone.
  std::vector<Symbol> symbols_;
  std::vector<Candidate> queue_;
};

}  // namespace reference
