// Tokens and their ids, both ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "json.hpp"

namespace reference {

// An open-addressed table: building it is half of the time that loading takes. The tokens stay in
// the text of the tokenizer.json, which must outlive it.
class Vocabulary {
 public:
  // From an object of token → id; throws json::Malformed where an id is no 32-bit unsigned number.
  explicit Vocabulary(const json::Value& tokens);

  std::optional<std::uint32_t> id_of(std::string_view token) const;

  // Where two tokens have one id, the later in the text.
  std::optional<std::string_view> token_of(std::uint32_t id) const;

  // How many different tokens there are.
  std::size_t size() const { return by_id_.size(); }

 private:
  struct Slot {
    const char* token;  // nullptr where the slot is free
    std::uint32_t length;
    std::uint32_t hash;
    std::uint32_t id;

    std::string_view text() const { return {token, length}; }
  };

  std::size_t slot_of(std::string_view token, std::uint32_t hash) const;

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> by_id_;  // indices of slots, sorted by id
};

}  // namespace reference
