#include "trie.hpp"

#include "utf8.hpp"

namespace reference {

Trie::Trie() { nodes_.push_back({0, kNone, kNone, kNone}); }

std::uint32_t Trie::child_of(std::uint32_t node, std::uint8_t byte) const {
  std::uint32_t child = nodes_[node].child;
  while (child != kNone && nodes_[child].byte != byte) child = nodes_[child].sibling;
  return child;
}

void Trie::add(std::string_view key, std::uint32_t value) {
  starts_[utf8::byte_at(key, 0)] = true;
  std::uint32_t node = 0;
  for (std::size_t at = 0; at < key.size(); ++at) {
    const std::uint8_t byte = utf8::byte_at(key, at);
    std::uint32_t child = child_of(node, byte);
    if (child == kNone) {
      child = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({byte, kNone, nodes_[node].child, kNone});
      nodes_[node].child = child;
    }
    node = child;
  }
  if (nodes_[node].value == kNone) nodes_[node].value = value;
}

std::optional<Trie::Match> Trie::find(std::string_view text, std::size_t from) const {
  for (std::size_t start = from; start < text.size(); ++start) {
    if (!starts_[utf8::byte_at(text, start)]) continue;
    std::optional<Match> longest;
    std::uint32_t node = 0;
    for (std::size_t at = start; at < text.size(); ++at) {
      node = child_of(node, utf8::byte_at(text, at));
      if (node == kNone) break;
      if (nodes_[node].value != kNone) longest = {start, at + 1, nodes_[node].value};
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

}  // namespace reference
