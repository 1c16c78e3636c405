// JSON, read into one flat vector of nodes: no recursion, no allocation for a value, strings left
// in the text that they were read from. Loading dominates a probe's time under an emulator, and
// most of a tokenizer.json is 150,000 strings and as many pairs of them.
//
// The rules are those of RFC 8259: the text must be UTF-8, a surrogate must have its other half.
// Where an object repeats a key the last one counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace reference::json {

// As deep as the oracle's own reader (serde_json) goes.
constexpr std::size_t kDeepest = 128;

// Its message says what was wrong and where: line, column and byte.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

struct Node {
  const char* text;      // of a string (unescaped) or a number (as written)
  std::uint32_t length;  // of the text; of a container: how many values, keys not counted
  std::uint32_t after;   // the index of the node that follows this one and all in it
  Kind kind;
};

// A place in a document; the document must outlive it. One that is absent reads as null.
class Value {
 public:
  Value() = default;
  Value(const std::vector<Node>& nodes, std::uint32_t index) : nodes_(&nodes), index_(index) {}

  Kind kind() const { return nodes_ == nullptr ? Kind::kNull : node().kind; }
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_array() const { return kind() == Kind::kArray; }
  bool is_object() const { return kind() == Kind::kObject; }

  // A string's characters or a number as written; empty for anything else.
  std::string_view text() const;

  // The number of values in an array or object, 0 for anything else.
  std::size_t size() const;

  // The last member of that name, or an absent value.
  Value operator[](std::string_view name) const;

  std::optional<bool> boolean() const;
  std::optional<std::uint32_t> unsigned32() const;

  // Calls `visit(element)` for each element of an array.
  template <typename Visit>
  void for_each_element(Visit visit) const {
    if (!is_array()) return;
    for (std::uint32_t at = index_ + 1; at < node().after; at = (*nodes_)[at].after) {
      visit(Value(*nodes_, at));
    }
  }

  // Calls `visit(name, value)` for each member of an object, in the order of the text.
  template <typename Visit>
  void for_each_member(Visit visit) const {
    if (!is_object()) return;
    for (std::uint32_t at = index_ + 1; at < node().after; at = (*nodes_)[at + 1].after) {
      const Node& name = (*nodes_)[at];
      visit(std::string_view(name.text, name.length), Value(*nodes_, at + 1));
    }
  }

 private:
  const Node& node() const { return (*nodes_)[index_]; }

  const std::vector<Node>* nodes_ = nullptr;
  std::uint32_t index_ = 0;
};

// A parsed text. It must outlive the document, which unescapes strings in place.
class Document {
 public:
  // Throws Malformed.
  Document(char* text, std::size_t size);

  Value root() const { return Value(nodes_, 0); }

 private:
  std::vector<Node> nodes_;
};

// "a number", "an object" …, for messages.
std::string_view name_of(Kind kind);

}  // namespace reference::json
