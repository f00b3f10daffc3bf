#include "fuzz/json_mutator.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "format/json_reader.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

namespace pawl::fuzz {

namespace json = boost::json;

namespace {

constexpr std::size_t kDepthMax = 60;

struct Nodes {
  std::vector<json::value*> all;
  std::vector<json::array*> lists;
  std::vector<json::object*> objects;
};

void collect(json::value& value, Nodes& nodes, std::size_t depth) {
  if (depth > kDepthMax) {
    return;
  }
  nodes.all.push_back(&value);
  if (json::array* list = value.if_array()) {
    nodes.lists.push_back(list);
    for (json::value& element : *list) {
      collect(element, nodes, depth + 1);
    }
  } else if (json::object* object = value.if_object()) {
    nodes.objects.push_back(object);
    for (json::key_value_pair& member : *object) {
      collect(member.value(), nodes, depth + 1);
    }
  }
}

class Mutator {
 public:
  Mutator(unsigned seed, std::span<const std::string_view> snippets)
      : random_(seed), snippets_(snippets) {}

  void mutate(json::value& root) {
    for (std::size_t rounds = 1 + below(3); rounds > 0; --rounds) {
      Nodes nodes;
      collect(root, nodes, 0);
      switch (below(4)) {
        case 0:
        case 1:
          if (!nodes.lists.empty()) {
            mutate_list(*nodes.lists[below(nodes.lists.size())], nodes);
            break;
          }
          [[fallthrough]];
        case 2:
          mutate_value(*nodes.all[below(nodes.all.size())], nodes);
          break;
        default:
          if (!nodes.objects.empty()) {
            drop_member(*nodes.objects[below(nodes.objects.size())]);
          }
          break;
      }
    }
  }

 private:
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

  void mutate_list(json::array& list, const Nodes& nodes) {
    const std::size_t choice = list.empty() ? 4 + below(2) : below(6);
    const std::size_t at = list.empty() ? 0 : below(list.size());
    switch (choice) {
      case 0:
        list.erase(list.begin() + at);
        break;
      case 1:
        list.insert(list.begin() + at, json::value(list[below(list.size())]));
        break;
      case 2:
        std::swap(list[at], list[below(list.size())]);
        break;
      case 3: {
        // An element goes to another place of the same list.
        json::value moved = std::move(list[at]);
        list.erase(list.begin() + at);
        list.insert(list.begin() + below(list.size() + 1), std::move(moved));
        break;
      }
      case 4:
        list.insert(list.begin() + at, any_snippet());
        break;
      default: {
        const json::value copy = *nodes.all[below(nodes.all.size())];
        list.insert(list.begin() + at, copy);
        break;
      }
    }
  }

  json::value any_snippet() {
    if (snippets_.empty()) {
      return nullptr;
    }
    Result<json::value> parsed = format::parse_json(snippets_[below(snippets_.size())]);
    return parsed ? *std::move(parsed) : json::value();
  }

  void mutate_value(json::value& value, const Nodes& nodes) {
    if (value.is_int64() && below(4) != 0) {
      const std::int64_t number = value.get_int64();
      constexpr std::int64_t kMax = std::int64_t{1} << 50U;
      if (number > -kMax && number < kMax) {
        value = number + static_cast<std::int64_t>(below(5)) - 2;
      }
      return;
    }
    // A value of the same kind from elsewhere fits best.
    std::vector<const json::value*> alike;
    for (const json::value* other : nodes.all) {
      if (other->kind() == value.kind() || below(20) == 0) {
        alike.push_back(other);
      }
    }
    if (!alike.empty()) {
      const json::value copy = *alike[below(alike.size())];
      value = copy;
    }
  }

  // Keeps the order of the others: the first key of a step is its verb.
  void drop_member(json::object& object) {
    if (object.empty()) {
      return;
    }
    const std::size_t dropped = below(object.size());
    json::object kept;
    std::size_t position = 0;
    for (json::key_value_pair& member : object) {
      if (position++ != dropped) {
        kept[member.key()] = std::move(member.value());
      }
    }
    object = std::move(kept);
  }

  std::mt19937 random_;
  std::span<const std::string_view> snippets_;
};

}  // namespace

std::size_t mutate_json(std::uint8_t* data, std::size_t size, std::size_t size_max, unsigned seed,
                        std::span<const std::string_view> snippets) {
  Result<json::value> value =
      format::parse_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!value || seed % 5 == 0) {
    return LLVMFuzzerMutate(data, size, size_max);
  }
  Mutator(seed, snippets).mutate(*value);
  const std::string text = json::serialize(*value);
  if (text.size() > size_max) {
    return LLVMFuzzerMutate(data, size, size_max);
  }
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

bool has_huge_number(const json::value& value) {
  constexpr double kNumberMax = 1e15;
  constexpr std::size_t kDigitsMax = 16;
  if (value.is_number()) {
    const auto number = value.to_number<double>();
    return !(number < kNumberMax && number > -kNumberMax);
  }
  if (const json::string* text = value.if_string()) {
    std::size_t digits = 0;
    for (const char c : *text) {
      digits = c >= '0' && c <= '9' ? digits + 1 : 0;
      if (digits > kDigitsMax) {
        return true;
      }
    }
    return false;
  }
  if (const json::array* list = value.if_array()) {
    return std::any_of(list->begin(), list->end(), has_huge_number);
  }
  if (const json::object* object = value.if_object()) {
    return std::any_of(object->begin(), object->end(), [](const json::key_value_pair& member) {
      return has_huge_number(member.value());
    });
  }
  return false;
}

}  // namespace pawl::fuzz
