#include "engine/tokenizer.h"

#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "utf8.h"
#ifdef ENGINE_UNICODE
#include "unicode.h"
#endif

namespace engine {
namespace {

bool is_digit(const std::string& c) {
#ifdef ENGINE_UNICODE
  return unicode_is_number(c);
#else
  return c[0] >= '0' && c[0] <= '9';
#endif
}
bool is_letter(const std::string& c) {
  if (static_cast<unsigned char>(c[0]) >= 0x80) return !is_digit(c);
  return static_cast<unsigned>((c[0] | 0x20) - 'a') < 26;
}
bool is_line_end(const std::string& c) { return c == "\n" || c == "\r"; }
bool is_space(const std::string& c) { return c == " " || (c[0] >= '\t' && c[0] <= '\r'); }
bool is_sign(const std::string& c) { return !is_letter(c) && !is_digit(c) && !is_space(c); }

// One visible character for each byte, as in every byte-level vocabulary.
std::array<std::string, 256> alphabet() {
  std::array<std::string, 256> made;
  unsigned hidden = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool shown = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    third_party::append(made[byte], shown ? byte : 256 + hidden++);
  }
  return made;
}

// The end of the word that begins at `at`: the families' usual pattern, by hand.
std::size_t word_end(const std::vector<std::string>& text, std::size_t at) {
  const auto run = [&](std::size_t from, bool (*is)(const std::string&)) {
    while (from < text.size() && is(text[from])) ++from;
    return from;
  };
  if (text[at] == "'") {
    for (const char* ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
      std::string next;
      const std::string wanted = ending;
      for (auto i = at + 1; i < text.size() && i <= at + wanted.size(); ++i) next += text[i];
      for (char& c : next) c |= 0x20;
      if (next == wanted) return at + 1 + wanted.size();
    }
  }
  const bool before = !is_letter(text[at]) && !is_digit(text[at]) && !is_line_end(text[at]);
  const auto letters = run(at + before, is_letter);
  if (letters > at + before) return letters;
  if (is_digit(text[at])) return at + 1;
  const auto signs = run(at + (text[at] == " "), is_sign);
  if (signs > at + (text[at] == " ")) return run(signs, is_line_end);
  const auto spaces = run(at, is_space);
  for (auto end = spaces; end > at; --end) {
    if (is_line_end(text[end - 1])) return end;
  }
  return spaces == text.size() || spaces == at + 1 ? spaces : spaces - 1;
}

}  // namespace

Tokenizer Tokenizer::from_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  Tokenizer made;
  made.vocabulary_ = Vocabulary::read(text.str());
  return made;
}

void Tokenizer::encode_word(const std::string& word, std::vector<int>& ids) const {
  static const auto visible = alphabet();
  std::vector<std::string> parts;
  for (const char byte : word) parts.push_back(visible[static_cast<unsigned char>(byte)]);
  while (parts.size() > 1) {
    auto best = vocabulary_.ranks.end();
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = vocabulary_.ranks.find({parts[i], parts[i + 1]});
      if (found == vocabulary_.ranks.end()) continue;
      if (best == vocabulary_.ranks.end() || found->second < best->second) best = found;
    }
    if (best == vocabulary_.ranks.end()) break;
    std::vector<std::string> merged;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      merged.push_back(parts[i]);
      if (i + 1 < parts.size() && Pair(parts[i], parts[i + 1]) == best->first) {
        merged.back() += parts[++i];
      }
    }
    parts.swap(merged);
  }
  for (const auto& part : parts) ids.push_back(vocabulary_.ids.at(part));
}

void Tokenizer::encode_text(const std::string& text, std::vector<int>& ids) const {
  const auto characters = third_party::characters(text);
  for (std::size_t at = 0; at < characters.size();) {
    const auto end = word_end(characters, at);
    std::string word;
    for (; at < end; ++at) word += characters[at];
    encode_word(word, ids);
  }
}

std::vector<int> Tokenizer::encode(const std::string& text) const {
  std::vector<int> ids;
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const std::string* token = nullptr;
    int id = 0;
    for (const auto& [content, number] : vocabulary_.added) {
      const bool longer = token == nullptr || content.size() > token->size();
      if (longer && text.compare(at, content.size(), content) == 0) token = &content, id = number;
    }
    if (token == nullptr) {
      plain += text[at++];
      continue;
    }
    encode_text(plain, ids);
    plain.clear();
    ids.push_back(id);
    at += token->size();
  }
  encode_text(plain, ids);
  return ids;
}

}  // namespace engine
