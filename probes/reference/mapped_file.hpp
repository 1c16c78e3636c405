// A file's bytes as private memory: read as far as they are looked at, so that two gigabytes of
// nesting are refused after the first page, and writable without touching the file.
#pragma once

#include <cstddef>
#include <string>

namespace reference {

class MappedFile {
 public:
  // Throws std::runtime_error naming the path and the reason.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() { return data_; }
  std::size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace reference
