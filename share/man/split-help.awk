# What --help says, in two files: `help`, which help2man reads, and `extra`, the sections that it cannot make from it.
function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text
}

# An example is a command, and after it or alone in the next line, behind two blanks or more, a comment.
function example(line,    at) {
    at = match(line, /[^ ]  +[^ ]/)
    if (line ~ /^          /) return comment(substr(line, match(line, /[^ ]/)))
    finish_comment()
    if (!at) return command(substr(line, 3))
    command(substr(line, 3, at - 2))
    comment(substr(line, at + RLENGTH - 1))
}
function command(text) { print ".PP\n\\fB" roff(text) "\\fR" >extra }
function comment(text) {
    if (!in_comment) print ".RS 4" >extra
    in_comment = 1
    print "\\&" roff(text) >extra
}
function finish_comment() {
    if (in_comment) print ".RE" >extra
    in_comment = 0
}

# "0 drawn, 64 wrong options. More." -> a list, and the rest as a paragraph.
function exit_status(text,    codes, rest, end, items, count, i) {
    end = index(text, ". ")
    codes = end ? substr(text, 1, end - 1) : text
    rest = end ? substr(text, end + 2) : ""
    sub(/\.$/, "", codes)
    count = split(codes, items, /, /)
    print "\n[exit status]" >extra
    for (i = 1; i <= count; ++i)
        if (match(items[i], /^[0-9]+ /))
            print ".TP\n.B " substr(items[i], 1, RLENGTH - 1) "\n" roff(substr(items[i], RLENGTH + 1)) >extra
        else
            print "\\&, " roff(items[i]) >extra
    if (rest != "") print ".PP\n" roff(rest) >extra
}

part == "" && /^Usage:/ { part = "usage" }
/^$/ { finish_comment(); part = "" }
part == "usage" && /^       [^ ]/ { sub(/^ +/, "  or:  ") }
/^Examples:$/ { part = "examples"; print "\n[examples]" >extra; next }
/^Exit codes: / { part = "exit"; sub(/^Exit codes: /, "") }
part == "examples" { example($0); next }
part == "exit" { codes = codes (codes == "" ? "" : " ") $0; next }
{
    # Boost writes "-h [ --help ]".
    if (match($0, /^  -[a-zA-Z] \[ --[a-z-]+ \]/)) {
        long = substr($0, 8, RLENGTH - 9)
        $0 = substr($0, 1, 4) ", " long substr($0, RLENGTH + 1)
    }
    print >help
}
END { finish_comment(); if (codes != "") exit_status(codes) }
