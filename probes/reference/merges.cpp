#include "merges.hpp"

#include <bit>
#include <limits>
#include <optional>
#include <string>

#include "part.hpp"

namespace reference {
namespace {

// A pair that is none: no rank comes near it, so that a free slot is known by its merge.
constexpr std::uint32_t kFree = std::numeric_limits<std::uint32_t>::max();

std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) {
  return (static_cast<std::uint64_t>(left) << 32U) | right;
}

std::size_t start_of(std::uint64_t pair, std::size_t slots) {
  return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15U) >> 32U) & (slots - 1);
}

std::uint32_t known(std::string_view token, const Vocabulary& vocabulary, std::uint32_t merge) {
  const auto id = vocabulary.id_of(token);
  if (!id) {
    malformed("model", "merge " + std::to_string(merge) + " needs the token '" +
                           std::string(token) + "', which is not in the vocabulary");
  }
  return *id;
}

}  // namespace

Merges::Merges(const json::Value& list, const Vocabulary& vocabulary) {
  slots_.resize(std::bit_ceil(list.size() + list.size() / 3 + 1), Slot{0, {kFree, 0}});
  list.for_each_element([&](json::Value merge) {
    if (merge.is_string()) {
      const std::string_view line = merge.text();
      if (line.starts_with("#version")) return;  // the first line of a merges.txt
      const std::size_t space = line.find(' ');
      if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
        malformed("model", "merge '" + std::string(line) + "' is not two tokens and one space");
      }
      add(line.substr(0, space), line.substr(space + 1), vocabulary);
      return;
    }
    std::vector<json::Value> sides;
    merge.for_each_element([&](json::Value side) { sides.push_back(side); });
    if (sides.size() != 2 || !sides[0].is_string() || !sides[1].is_string()) {
      malformed("model", "merge " + std::to_string(count_) + " is not two tokens");
    }
    add(sides[0].text(), sides[1].text(), vocabulary);
  });
}

void Merges::add(std::string_view left, std::string_view right, const Vocabulary& vocabulary) {
  std::string whole(left);
  whole.append(right);
  const std::uint64_t pair =
      pair_of(known(left, vocabulary, count_), known(right, vocabulary, count_));
  slot_of(pair) = {pair, {count_, known(whole, vocabulary, count_)}};
  ++count_;
}

Merges::Slot& Merges::slot_of(std::uint64_t pair) {
  std::size_t at = start_of(pair, slots_.size());
  while (slots_[at].merge.rank != kFree && slots_[at].pair != pair) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return slots_[at];
}

const Merge* Merges::find(std::uint32_t left, std::uint32_t right) const {
  const std::uint64_t pair = pair_of(left, right);
  std::size_t at = start_of(pair, slots_.size());
  while (slots_[at].merge.rank != kFree) {
    if (slots_[at].pair == pair) return &slots_[at].merge;
    at = (at + 1) & (slots_.size() - 1);
  }
  return nullptr;
}

}  // namespace reference
