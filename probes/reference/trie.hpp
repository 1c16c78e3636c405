// Leftmost-longest search for any of a set of byte strings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace reference {

class Trie {
 public:
  Trie();

  struct Match {
    std::size_t start;
    std::size_t end;
    std::uint32_t value;
  };

  // `key` must not be empty. Of equal keys the first counts.
  void add(std::string_view key, std::uint32_t value);

  // The longest match of the leftmost start at or after `from`.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  struct Node {
    std::uint8_t byte;
    std::uint32_t child;
    std::uint32_t sibling;
    std::uint32_t value;
  };

  std::uint32_t child_of(std::uint32_t node, std::uint8_t byte) const;

  std::vector<Node> nodes_;
  std::array<bool, 256> starts_{};  // bytes that some key begins with
};

}  // namespace reference
