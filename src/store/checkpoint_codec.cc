#include "store/checkpoint_codec.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace pawl::store {

namespace {

constexpr char kForm = 1;

// Numbers in groups of 7 bits, lowest first; the high bit says that there are more.
void put_number(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80U));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}

void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out += text;
}

// Reads until something does not fit; from then on everything is 0 or empty, and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && left_.empty(); }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) {
        break;
      }
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    ok_ = false;
    return 0;
  }

  // How many items follow; each takes at least a byte, so a larger number cannot be right.
  std::uint64_t count() {
    const std::uint64_t value = number();
    ok_ = ok_ && value <= left_.size();
    return ok_ ? value : 0;
  }

  std::string text() {
    const std::uint64_t size = count();
    std::string value(left_.substr(0, size));
    left_.remove_prefix(size);
    return value;
  }

 private:
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace

std::string encode_checkpoint(const replay::Checkpoint& checkpoint) {
  std::string out(1, kForm);
  put_number(out, checkpoint.iteration);
  put_text(out, checkpoint.state);
  put_number(out, checkpoint.changes.size());
  for (const replay::StateChange& change : checkpoint.changes) {
    put_text(out, change.key);
    put_number(out, change.value.has_value() ? 1 : 0);
    put_text(out, change.value.value_or(""));
  }
  put_number(out, checkpoint.taken.size());
  for (const std::uint64_t seq : checkpoint.taken) {
    put_number(out, seq);
  }
  put_number(out, checkpoint.done ? 1 : 0);
  put_text(out, checkpoint.result);
  return out;
}

bool decode_checkpoint(std::string_view bytes, replay::Checkpoint& checkpoint) {
  if (bytes.empty() || bytes.front() != kForm) {
    return false;
  }
  Reader reader(bytes.substr(1));
  checkpoint = {};
  checkpoint.iteration = reader.number();
  checkpoint.state = reader.text();
  for (std::uint64_t left = reader.count(); left > 0 && reader.ok(); --left) {
    replay::StateChange change;
    change.key = reader.text();
    const bool has_value = reader.number() != 0;
    std::string value = reader.text();
    if (has_value) {
      change.value = std::move(value);
    }
    checkpoint.changes.push_back(std::move(change));
  }
  for (std::uint64_t left = reader.count(); left > 0 && reader.ok(); --left) {
    checkpoint.taken.push_back(reader.number());
  }
  checkpoint.done = reader.number() != 0;
  checkpoint.result = reader.text();
  return reader.at_end();
}

}  // namespace pawl::store
