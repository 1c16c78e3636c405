#include "vocabulary.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "part.hpp"

namespace reference {
namespace {

// Only a table in memory depends on it, so that its value may differ with the byte order.
std::uint32_t hash_of(std::string_view token) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15U;
  std::uint64_t hash = token.size() * kMultiplier;
  for (std::size_t at = 0; at < token.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, token.data() + at, std::min(sizeof word, token.size() - at));
    hash = (std::rotl(hash, 23) ^ word) * kMultiplier;
  }
  return static_cast<std::uint32_t>(hash >> 32U);
}

}  // namespace

Vocabulary::Vocabulary(const json::Value& tokens) {
  slots_.resize(std::bit_ceil(tokens.size() + tokens.size() / 3 + 1));
  by_id_.reserve(tokens.size());
  tokens.for_each_member([&](std::string_view token, json::Value value) {
    const auto id = value.unsigned32();
    if (!id) {
      malformed("model", "the id of '" + std::string(token) + "' is no 32-bit unsigned number");
    }
    const std::uint32_t hash = hash_of(token);
    const std::size_t at = slot_of(token, hash);
    if (slots_[at].token == nullptr) by_id_.push_back(static_cast<std::uint32_t>(at));
    slots_[at] = {token.data(), static_cast<std::uint32_t>(token.size()), hash, *id};
  });
  const auto lower_id = [&](std::uint32_t a, std::uint32_t b) {
    return slots_[a].id < slots_[b].id;
  };
  // In nearly every file the tokens are in the order of their ids already.
  if (!std::is_sorted(by_id_.begin(), by_id_.end(), lower_id)) {
    std::stable_sort(by_id_.begin(), by_id_.end(), lower_id);
  }
}

std::size_t Vocabulary::slot_of(std::string_view token, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].token != nullptr && (slots_[at].hash != hash || slots_[at].text() != token)) {
    at = (at + 1) & mask;
  }
  return at;
}

std::optional<std::uint32_t> Vocabulary::id_of(std::string_view token) const {
  const Slot& slot = slots_[slot_of(token, hash_of(token))];
  if (slot.token == nullptr) return std::nullopt;
  return slot.id;
}

std::optional<std::string_view> Vocabulary::token_of(std::uint32_t id) const {
  const auto after = std::upper_bound(
      by_id_.begin(), by_id_.end(), id,
      [&](std::uint32_t wanted, std::uint32_t slot) { return wanted < slots_[slot].id; });
  if (after == by_id_.begin()) return std::nullopt;
  const Slot& slot = slots_[*(after - 1)];
  if (slot.id != id) return std::nullopt;
  return slot.text();
}

}  // namespace reference
