#include "bpe.hpp"

#include <algorithm>
#include <stdexcept>

#include "byte_level.hpp"
#include "part.hpp"
#include "utf8.hpp"

namespace reference {
namespace {

json::Value checked(const json::Value& description) {
  // GPT-2's own file names no type; the oracle takes a vocabulary with merges for BPE too.
  const json::Value type = description["type"];
  if (!type.is_null() && type.text() != "BPE") refuse("model", type.text());
  if (!description["vocab"].is_object() || !description["merges"].is_array()) {
    malformed("model", "expected BPE's vocab and merges");
  }
  const json::Value dropout = description["dropout"];
  if (!dropout.is_null() && dropout.text() != "0" && dropout.text() != "0.0") {
    refuse("model", "dropout " + std::string(dropout.text()));
  }
  for (const std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const std::string_view value = description[affix].text();
    if (!value.empty()) refuse("model", std::string(affix) + " '" + std::string(value) + "'");
  }
  if (flag_or(description, "model", "byte_fallback", false)) {
    refuse("model", "byte_fallback true");
  }
  return description;
}

}  // namespace

Bpe::Bpe(const json::Value& description)
    : vocabulary_(checked(description)["vocab"]),
      merges_(description["merges"], vocabulary_),
      ignore_merges_(flag_or(description, "model", "ignore_merges", false)),
      fuse_unk_(flag_or(description, "model", "fuse_unk", false)) {
  if (description["unk_token"].is_string()) unk_token_ = description["unk_token"].text();
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    std::string token;
    utf8::append(token, byte_level::character_of(static_cast<std::uint8_t>(byte)));
    byte_ids_[byte] = vocabulary_.id_of(token);
  }
}

void Bpe::append(std::string_view word, std::vector<std::uint32_t>& ids) {
  if (ignore_merges_) {
    if (const auto id = vocabulary_.id_of(byte_level::written(word))) {
      ids.push_back(*id);
      return;
    }
  }
  start(word);
  merge_all();
  for (const Symbol& symbol : symbols_) {
    if (!symbol.gone) ids.push_back(symbol.id);
  }
}

// A byte without a token of its own is an unk_token, and without an unk_token nothing at all.
void Bpe::start(std::string_view word) {
  if (word.size() >= kNone) throw std::runtime_error("a word of 4 GiB or more");
  symbols_.clear();
  symbols_.reserve(word.size());
  bool last_was_unknown = false;
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (const auto id = byte_ids_[utf8::byte_at(word, at)]) {
      push_symbol(*id);
      last_was_unknown = false;
    } else if (unk_token_) {
      const auto unknown = vocabulary_.id_of(*unk_token_);
      if (!unknown) {
        throw std::runtime_error("the unk_token '" + std::string(*unk_token_) +
                                 "' is not in the vocabulary");
      }
      if (!fuse_unk_ || !last_was_unknown) push_symbol(*unknown);
      last_was_unknown = true;
    }
  }
  if (!symbols_.empty()) symbols_.back().after = kNone;
}

void Bpe::push_symbol(std::uint32_t id) {
  const auto index = static_cast<std::uint32_t>(symbols_.size());
  symbols_.push_back({id, index == 0 ? kNone : index - 1, index + 1, false});
}

// Adds the pair of `left` and its right neighbour to the end of the queue, if it merges.
void Bpe::consider(std::uint32_t left) {
  const Symbol& symbol = symbols_[left];
  if (symbol.after == kNone) return;
  if (const Merge* merge = merges_.find(symbol.id, symbols_[symbol.after].id)) {
    queue_.push_back({merge->rank, left, merge->id});
  }
}

void Bpe::merge_all() {
  // Lowest rank first, then leftmost.
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  };
  queue_.clear();
  for (std::uint32_t at = 0; at < symbols_.size(); ++at) consider(at);
  std::make_heap(queue_.begin(), queue_.end(), later);
  const auto consider_later = [&](std::uint32_t left) {
    const std::size_t size = queue_.size();
    consider(left);
    if (queue_.size() > size) std::push_heap(queue_.begin(), queue_.end(), later);
  };
  while (!queue_.empty()) {
    const Candidate top = queue_.front();
    std::pop_heap(queue_.begin(), queue_.end(), later);
    queue_.pop_back();

    Symbol& left = symbols_[top.position];
    if (left.gone || left.after == kNone) continue;
    Symbol& right = symbols_[left.after];
    // What the candidate was made of may have merged since. The oracle compares what the pair now
    // becomes, and so does this.
    const Merge* merge = merges_.find(left.id, right.id);
    if (merge == nullptr || merge->id != top.id) continue;

    left.id = top.id;
    left.after = right.after;
    right.gone = true;
    if (left.after != kNone) symbols_[left.after].before = top.position;
    if (left.before != kNone) consider_later(left.before);
    consider_later(top.position);
  }
}

}  // namespace reference
