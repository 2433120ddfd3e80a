/* Fields of a job, by their keys: all that this example needs of JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *cause, const char *message) {
    printf("{\"event\":\"failure\",\"cause\":\"%s\",\"message\":\"%s\"}\n", cause, message);
    exit(1);
}

/* JSON: what stands behind a key. A quote within a string is escaped, so no string has a key. */
static char *behind(char *json, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    char *found = strstr(json, quoted);
    if (!found) fail("bad-job", "the job lacks a field");
    return found + strlen(quoted);
}
static double number(char *json, const char *key) { return strtod(behind(json, key), NULL); }  /* null: 0 */
static char *skip(char *at) {                   /* to the end of a value in brackets */
    for (int depth = 0, quoted = 0;; at++) {
        if (*at == '\\') at++;
        else if (*at == '"') quoted = !quoted;
        else if (!quoted && strchr("{[", *at)) depth++;
        else if (!quoted && strchr("}]", *at) && !--depth) return at + 1;
    }
}
static void string(char *at, char *to, size_t room, int raw) {
    for (at++; *at != '"' && room > 3; *to++ = *at++, room--)
        if (*at == '\\') {
            if (raw) *to++ = *at, room--;
            else if (at[1] == 'u') fail("open", "the path is not ASCII");
            at++;
        }
    *to = 0;
}
