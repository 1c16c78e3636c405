#include "added_tokens.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "part.hpp"
#include "unicode.hpp"
#include "utf8.hpp"

namespace reference {
namespace {

constexpr std::string_view kPart = "added_tokens";

bool ends_with_word(std::string_view text) {
  return !text.empty() &&
         unicode::is_word(utf8::decode(text, utf8::before(text, text.size())).code);
}

bool starts_with_word(std::string_view text) {
  return !text.empty() && unicode::is_word(utf8::decode(text, 0).code);
}

// Where the spaces that end at `at` begin, but not before `limit`.
std::size_t spaces_before(std::string_view text, std::size_t at, std::size_t limit) {
  while (at > limit) {
    const std::size_t start = utf8::before(text, at);
    if (!unicode::is_space(utf8::decode(text, start).code)) break;
    at = start;
  }
  return std::max(at, limit);
}

std::size_t spaces_after(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const auto [code, length] = utf8::decode(text, at);
    if (!unicode::is_space(code)) break;
    at += length;
  }
  return at;
}

}  // namespace

std::vector<AddedTokens::Token> AddedTokens::read(const json::Value& list) {
  if (!list.is_null() && !list.is_array()) malformed(kPart, "expected an array");
  std::vector<Token> tokens;
  list.for_each_element([&](json::Value one) {
    const json::Value content = one["content"];
    if (!content.is_string() || !one["id"].unsigned32()) {
      malformed(kPart, "token " + std::to_string(tokens.size()) + " lacks its content or its id");
    }
    tokens.push_back({content.text(), flag(one, kPart, "single_word"), flag(one, kPart, "lstrip"),
                      flag(one, kPart, "rstrip"), flag(one, kPart, "normalized"),
                      flag(one, kPart, "special")});
  });
  std::erase_if(tokens, [](const Token& token) { return token.content.empty(); });
  return tokens;
}

AddedTokens::AddedTokens(const json::Value& list, const Vocabulary& vocabulary,
                         const Normalizer& normalizer) {
  const std::vector<Token> tokens = read(list);
  std::set<std::string_view> special;
  std::vector<Token> ordered;  // special tokens first, then the others: the order that breaks ties
  for (const Token& token : tokens) {
    if (token.special && special.insert(token.content).second) ordered.push_back(token);
  }
  std::map<std::string_view, std::uint32_t> ids;
  auto next_id = static_cast<std::uint32_t>(vocabulary.size());
  std::vector<Token> known;
  for (const Token& token : tokens) {
    if (const auto id = ids.find(token.content); id != ids.end()) {
      const auto same = by_id_.find(id->second);
      if (same->second == token) continue;
    }
    const auto [entry, is_new] = ids.try_emplace(token.content, 0);
    if (is_new) {
      const auto id = vocabulary.id_of(token.content);
      entry->second = id ? *id : next_id++;
    }
    by_id_.insert_or_assign(entry->second, token);
    if (!special.contains(token.content)) ordered.push_back(token);
  }
  for (const Token& token : ordered) {
    const std::uint32_t id = ids.at(token.content);
    if (token.normalized) {
      normalized_.add(normalizer.apply(token.content), id);
    } else {
      raw_.add(token.content, id);
    }
  }
}

std::optional<std::string_view> AddedTokens::content_of(std::uint32_t id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return found->second.content;
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text, const Trie& trie) const {
  std::vector<Part> parts;
  std::size_t rest = 0;  // what no part has covered yet
  std::size_t from = 0;
  while (const auto match = trie.find(text, from)) {
    from = match->end;
    const Token& token = by_id_.at(match->value);
    if (token.single_word && (ends_with_word(text.substr(0, match->start)) ||
                              starts_with_word(text.substr(match->end)))) {
      continue;
    }
    std::size_t start = match->start;
    std::size_t end = match->end;
    if (token.lstrip) start = std::max(rest, spaces_before(text, start, std::min(rest, start)));
    if (token.rstrip) end = spaces_after(text, end);
    if (rest < start) parts.push_back({text.substr(rest, start - rest), std::nullopt});
    // The spaces that the token before took can hold all of this one.
    if (start > end) throw std::runtime_error("an added token inside the spaces of another");
    if (start < end) parts.push_back({text.substr(start, end - start), match->value});
    rest = end;
  }
  if (rest < text.size()) parts.push_back({text.substr(rest), std::nullopt});
  return parts;
}

}  // namespace reference
