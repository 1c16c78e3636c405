// The merges of a BPE model: for a pair of ids, its rank and the id that it becomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "json.hpp"
#include "vocabulary.hpp"

namespace reference {

struct Merge {
  std::uint32_t rank;
  std::uint32_t id;
};

class Merges {
 public:
  // From a list of "a b" or of ["a", "b"]; throws json::Malformed where a merge is neither, or
  // names or makes a token that the vocabulary lacks. Of equal pairs the last counts.
  Merges(const json::Value& list, const Vocabulary& vocabulary);

  // nullptr where the pair does not merge.
  const Merge* find(std::uint32_t left, std::uint32_t right) const;

 private:
  struct Slot {
    std::uint64_t pair;
    Merge merge;
  };

  void add(std::string_view left, std::string_view right, const Vocabulary& vocabulary);
  Slot& slot_of(std::uint64_t pair);

  std::vector<Slot> slots_;
  std::uint32_t count_ = 0;
};

}  // namespace reference
