// RunQuery::parse
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "view/run_query.h"
#include "view/text.h"

namespace pawl::view {

namespace {

using Node = QueryNode;
using Field = QueryNode::Field;
using Operator = QueryNode::Operator;

constexpr std::size_t kShownChars = 40;

struct Token {
  enum class Kind : std::uint8_t { kEnd, kWord, kText, kSign };
  Kind kind = Kind::kEnd;
  std::string text;
  std::size_t column = 1;  // In bytes.
};

bool is_word_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || static_cast<unsigned char>(byte) >= 0x80 ||
         std::string_view("_-.:+/").find(byte) != std::string_view::npos;
}

std::string lower(std::string text) {
  for (char& letter : text) {
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return text;
}

Error wrong(const Token& token, const std::string& expected) {
  const std::string found =
      token.kind == Token::Kind::kEnd ? "the end" : "'" + line_text(token.text, kShownChars) + "'";
  return make_error(ErrorCode::kMalformedInput, "query, column " + std::to_string(token.column) +
                                                    ": expected " + expected + ", found " + found);
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<Token> next() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) {
      ++at_;
    }
    Token token;
    token.column = at_ + 1;
    if (at_ == text_.size()) {
      return token;
    }
    const char first = text_[at_];
    if (first == '\'' || first == '"') {
      return quoted(first);
    }
    if (is_word_byte(first)) {
      token.kind = Token::Kind::kWord;
      while (at_ < text_.size() && is_word_byte(text_[at_])) {
        token.text += text_[at_++];
      }
      return token;
    }
    token.kind = Token::Kind::kSign;
    for (const std::string_view sign :
         {"==", "!=", "<=", ">=", "=", "<", ">", "(", ")", ",", "[", "]"}) {
      if (text_.substr(at_).starts_with(sign)) {
        at_ += sign.size();
        token.text = sign;
        return token;
      }
    }
    token.text = first;
    return wrong(token, "a field, a value or a comparison");
  }

 private:
  Result<Token> quoted(char quote) {
    Token token;
    token.kind = Token::Kind::kText;
    token.column = at_ + 1;
    ++at_;
    while (at_ < text_.size()) {
      if (text_[at_] != quote) {
        token.text += text_[at_++];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == quote) {
        token.text += quote;
        at_ += 2;
      } else {
        ++at_;
        return token;
      }
    }
    return make_error(ErrorCode::kMalformedInput, "query, column " + std::to_string(token.column) +
                                                      ": the text that begins "
                                                      "here has no end; a " +
                                                      quote + " is missing");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr std::array<std::pair<std::string_view, Field>, 8> kFields = {
    {{"id", Field::kId},
     {"kind", Field::kKind},
     {"status", Field::kStatus},
     {"waiting", Field::kWaiting},
     {"started", Field::kStarted},
     {"changed", Field::kChanged},
     {"ended", Field::kEnded},
     {"paused", Field::kPaused}}};
constexpr std::string_view kFieldsText =
    "a field (id, kind, status, waiting, tag.NAME, started, changed, ended, paused)";

class Parser {
 public:
  Parser(std::string_view text, std::int64_t now_ms, const Zone& zone)
      : lexer_(text), now_ms_(now_ms), zone_(zone) {}

  Result<Node> parse() {
    PAWL_TRY(advance());
    if (token_.kind == Token::Kind::kEnd) {
      return Node();
    }
    PAWL_TRY_ASSIGN(Node root, either());
    if (token_.kind != Token::Kind::kEnd) {
      return wrong(token_, "'and', 'or' or the end");
    }
    return root;
  }

 private:
  Result<void> advance() {
    PAWL_TRY_ASSIGN(token_, lexer_.next());
    return {};
  }
  bool is_word(std::string_view word) const {
    return token_.kind == Token::Kind::kWord && lower(token_.text) == word;
  }
  bool is_sign(std::string_view sign) const {
    return token_.kind == Token::Kind::kSign && token_.text == sign;
  }
  Result<void> expect(std::string_view sign) {
    return is_sign(sign) ? advance() : Result<void>(wrong(token_, "'" + std::string(sign) + "'"));
  }

  Result<Node> either() { return chain(Node::Kind::kOr, "or", &Parser::both); }
  Result<Node> both() { return chain(Node::Kind::kAnd, "and", &Parser::one); }

  Result<Node> chain(Node::Kind kind, std::string_view word, Result<Node> (Parser::*part)()) {
    PAWL_TRY_ASSIGN(Node first, (this->*part)());
    if (!is_word(word)) {
      return first;
    }
    Node node;
    node.kind = kind;
    node.parts.push_back(std::move(first));
    while (is_word(word)) {
      PAWL_TRY(advance());
      PAWL_TRY_ASSIGN(Node next, (this->*part)());
      node.parts.push_back(std::move(next));
    }
    return node;
  }

  Result<Node> one() {
    if (depth_ >= kQueryDepthMax) {
      return make_error(ErrorCode::kMalformedInput,
                        "query, column " + std::to_string(token_.column) + ": more than " +
                            std::to_string(kQueryDepthMax) + " levels of parentheses and 'not'");
    }
    ++depth_;
    Result<Node> node = is_word("not") ? negation() : is_sign("(") ? group() : comparison();
    --depth_;
    return node;
  }

  Result<Node> negation() {
    PAWL_TRY(advance());
    PAWL_TRY_ASSIGN(Node inner, one());
    return negated(std::move(inner));
  }

  Result<Node> group() {
    PAWL_TRY(advance());
    PAWL_TRY_ASSIGN(Node inner, either());
    PAWL_TRY(expect(")"));
    return inner;
  }

  static Node negated(Node inner) {
    Node node;
    node.kind = Node::Kind::kNot;
    node.parts.push_back(std::move(inner));
    return node;
  }

  Result<Node> comparison() {
    Node node;
    node.kind = Node::Kind::kCompare;
    PAWL_TRY(field(node));
    if (is_word("in") || is_word("not")) {
      const bool is_not = is_word("not");
      PAWL_TRY(advance());
      if (is_not) {
        if (!is_word("in")) {
          return wrong(token_, "'in'");
        }
        PAWL_TRY(advance());
      }
      node.op = Operator::kEqual;
      PAWL_TRY(list(node));
      return is_not ? negated(std::move(node)) : std::move(node);
    }
    const std::string sign = token_.kind == Token::Kind::kSign ? token_.text : "";
    const bool is_compared = sign == "=" || sign == "==" || sign == "!=" || sign == "<" ||
                             sign == "<=" || sign == ">" || sign == ">=";
    if (!is_compared) {
      return node.field == Field::kPaused ? Result<Node>(std::move(node))
                                          : Result<Node>(wrong(token_, "one of = != < <= > >= in"));
    }
    node.op = sign == "<"    ? Operator::kLess
              : sign == "<=" ? Operator::kLessEqual
              : sign == ">"  ? Operator::kMore
              : sign == ">=" ? Operator::kMoreEqual
                             : Operator::kEqual;
    if (node.op != Operator::kEqual &&
        (node.field == Field::kStatus || node.field == Field::kPaused)) {
      return wrong(token_, "= or != here");
    }
    PAWL_TRY(advance());
    PAWL_TRY(value(node));
    return sign == "!=" ? negated(std::move(node)) : std::move(node);
  }

  Result<void> field(Node& node) {
    if (token_.kind != Token::Kind::kWord) {
      return wrong(token_, std::string(kFieldsText));
    }
    if (token_.text.starts_with("tag.") && token_.text.size() > 4) {
      node.field = Field::kTag;
      node.tag = token_.text.substr(4);
      return advance();
    }
    if (token_.text == "tag") {
      node.field = Field::kTag;
      PAWL_TRY(advance());
      PAWL_TRY(expect("["));
      if (token_.kind != Token::Kind::kText) {
        return wrong(token_, "the tag's name in quotes");
      }
      node.tag = token_.text;
      PAWL_TRY(advance());
      return expect("]");
    }
    const std::string name = lower(token_.text);
    const auto* const known = std::find_if(kFields.begin(), kFields.end(),
                                           [&](const auto& each) { return each.first == name; });
    if (known == kFields.end()) {
      return wrong(token_, std::string(kFieldsText));
    }
    node.field = known->second;
    return advance();
  }

  Result<void> list(Node& node) {
    PAWL_TRY(expect("("));
    if (node.field == Field::kPaused) {
      return wrong(token_, "= or != for paused");
    }
    PAWL_TRY(value(node));
    while (is_sign(",")) {
      PAWL_TRY(advance());
      PAWL_TRY(value(node));
    }
    return expect(")");
  }

  Result<void> value(Node& node) {
    if (token_.kind != Token::Kind::kWord && token_.kind != Token::Kind::kText) {
      return wrong(token_, "a value");
    }
    switch (node.field) {
      case Field::kStarted:
      case Field::kChanged:
      case Field::kEnded: {
        const Result<std::int64_t> moment = parse_moment(token_.text, now_ms_, zone_);
        if (!moment) {
          return make_error(
              ErrorCode::kMalformedInput,
              "query, column " + std::to_string(token_.column) + ": " + moment.error().message);
        }
        node.moments.push_back(*moment);
        break;
      }
      case Field::kStatus: {
        const std::vector<store::RunStatus> found = find_statuses(token_.text);
        if (found.empty()) {
          return wrong(token_,
                       "a status (running, waiting, compensating, blocked, completed, failed, "
                       "cancelled, recurred, open, closed)");
        }
        node.statuses.insert(node.statuses.end(), found.begin(), found.end());
        break;
      }
      case Field::kPaused:
        if (token_.text != "true" && token_.text != "false") {
          return wrong(token_, "true or false");
        }
        node.flag = token_.text == "true";
        break;
      default:
        node.texts.push_back(token_.text);
    }
    return advance();
  }

  Lexer lexer_;
  Token token_;
  std::size_t depth_ = 0;
  const std::int64_t now_ms_;
  const Zone& zone_;
};

}  // namespace

Result<RunQuery> RunQuery::parse(std::string_view text, std::int64_t now_ms, const Zone& zone) {
  if (text.size() > kQueryBytesMax) {
    return make_error(ErrorCode::kLimitExceeded, "the query has " + std::to_string(text.size()) +
                                                     " bytes; at most " +
                                                     std::to_string(kQueryBytesMax) + " are read");
  }
  PAWL_TRY_ASSIGN(Node root, Parser(text, now_ms, zone).parse());
  return RunQuery(std::move(root));
}

std::vector<store::RunStatus> find_statuses(std::string_view name) {
  using store::RunStatus;
  if (name == "open") {
    return {RunStatus::kRunning, RunStatus::kWaiting, RunStatus::kCompensating,
            RunStatus::kBlocked};
  }
  if (name == "closed") {
    return {RunStatus::kCompleted, RunStatus::kFailed, RunStatus::kCancelled, RunStatus::kRecurred};
  }
  const std::optional<RunStatus> found = store::find_status(name);
  return found ? std::vector<RunStatus>{*found} : std::vector<RunStatus>{};
}

}  // namespace pawl::view
