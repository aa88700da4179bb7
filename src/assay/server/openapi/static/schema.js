// What the page says of schemas, and JSON made readable. Knows nothing of the page itself.
"use strict";

/** Follow references into the document. */
function resolve(api, schema) {
  while (schema.$ref) {
    schema = schema.$ref
      .slice(2)
      .split("/")
      .reduce((node, key) => node[key], api);
  }
  return schema;
}

/** What a reference refers to. */
function referredName(schema) {
  return schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
}

/** A type in a few words: `string | null`, `array of RunRecord`. */
function typeText(schema) {
  const choices = schema.oneOf ?? schema.anyOf;
  if (schema.$ref) return referredName(schema);
  if (choices) return choices.map(typeText).join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(" | ");
  const types = [schema.type ?? "any JSON"].flat();
  return types
    .map((type) => (type === "array" ? `array of ${itemText(schema)}` : type))
    .join(" | ");
}

function itemText(schema) {
  const choices = schema.items.oneOf ?? schema.items.anyOf ?? [];
  return choices.length > 1 ? "any of these" : typeText(schema.items);
}

/** What a value must keep to, and what counts when there is none. */
function limitsText(schema) {
  const said = [];
  if ("minimum" in schema) said.push(`≥ ${schema.minimum}`);
  if ("exclusiveMinimum" in schema) said.push(`> ${schema.exclusiveMinimum}`);
  if ("maximum" in schema) said.push(`≤ ${schema.maximum}`);
  if (schema.minLength === 1) said.push("not empty");
  if ("maxLength" in schema) said.push(`at most ${schema.maxLength} long`);
  if (schema.contentMediaType) said.push("JSON as text");
  if ("default" in schema) said.push(`default ${JSON.stringify(schema.default)}`);
  return said.join(", ");
}

/** Something that fits; what may be left out is null, or what counts then. */
function example(api, schema) {
  schema = resolve(api, schema);
  if ("default" in schema) return schema.default;
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.oneOf) return example(api, schema.oneOf[0]);
  const types = [schema.type ?? "null"].flat();
  if (types.includes("null")) return null;
  switch (types[0]) {
    case "object":
      return exampleObject(api, schema);
    case "array":
      return [example(api, schema.items)];
    case "integer":
    case "number":
      return schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1;
    case "boolean":
      return false;
    default:
      return "string";
  }
}

function exampleObject(api, schema) {
  const required = schema.required ?? [];
  const fields = Object.entries(schema.properties ?? {});
  return Object.fromEntries(
    fields.map(([name, field]) => [
      name,
      required.includes(name) ? example(api, field) : (resolve(api, field).default ?? null),
    ]),
  );
}

/** JSON text in lines, as [kind, text] pairs. It is never parsed: numbers stay as they were sent. */
function prettyJson(text) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? [];
  const pieces = [];
  let depth = 0;
  const newLine = () => "\n" + "  ".repeat(depth);
  tokens.forEach((token, index) => {
    const isEmpty = /^[\]}]$/.test(tokens[index + 1] ?? "");
    const wasEmpty = /^[[{]$/.test(tokens[index - 1] ?? "");
    if (token === "[" || token === "{") {
      depth += 1;
      pieces.push(["mark", isEmpty ? token : token + newLine()]);
    } else if (token === "]" || token === "}") {
      depth -= 1;
      pieces.push(["mark", wasEmpty ? token : newLine() + token]);
    } else if (token === ",") {
      pieces.push(["mark", token + newLine()]);
    } else if (token === ":") {
      pieces.push(["mark", ": "]);
    } else if (token.startsWith('"')) {
      pieces.push([tokens[index + 1] === ":" ? "key" : "string", token]);
    } else {
      pieces.push(["literal", token]);
    }
  });
  return pieces;
}
