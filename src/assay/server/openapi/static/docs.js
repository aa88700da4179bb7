// The page: reads openapi.json, shows every operation, and sends requests.
"use strict";

const TOKEN_KEY = "assay-docs-token";
const LONGEST_COLOURED = 200_000;
const OURS_ALONE = { cache: "no-store", credentials: "omit" }; // nothing the browser would add
const byId = (id) => document.getElementById(id);

/** An element; attributes that start with `on` are listeners. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== ""));
  return element;
}

/** Prose; what stands between backticks is code. */
function prose(text) {
  return text.split("`").map((piece, index) => (index % 2 ? make("code", {}, piece) : piece));
}

/** A fold whose content is made when it is first opened. */
function fold(attributes, summary, content) {
  const fill = () => details.append(...[content()].flat());
  const details = make("details", attributes, make("summary", {}, summary));
  details.addEventListener("toggle", fill, { once: true });
  return details;
}

// --- schemas -------------------------------------------------------------------------------------

/** A schema that unfolds, level by level. */
function schemaView(api, schema) {
  const inner = schema.type === "array" ? schema.items : schema;
  const choices = inner.oneOf ?? inner.anyOf;
  if (choices) return choices.map((choice) => schemaView(api, choice)).flat();
  const target = resolve(api, inner);
  if (!target.properties)
    return make("p", {}, make("code", {}, typeText(target)), " ", limitsText(target));
  const said = target.description ? make("p", {}, prose(target.description)) : null;
  const title = [make("code", {}, typeText(schema))];
  return fold({ class: "schema" }, title, () => [said, fieldsView(api, target)].filter(Boolean));
}

function fieldsView(api, schema) {
  const required = schema.required ?? [];
  const rows = Object.entries(schema.properties).map(([name, field]) =>
    make(
      "li",
      {},
      make("code", { class: "name" }, name),
      required.includes(name) ? make("b", { title: "required" }, "*") : "",
      " ",
      make("span", { class: "type" }, typeText(field)),
      " ",
      make("span", { class: "hint" }, hint(limitsText(field), field.description)),
      refersTo(field) ? schemaView(api, field) : "",
    ),
  );
  return make("ul", { class: "fields" }, rows);
}

function hint(...said) {
  return prose(said.filter(Boolean).join(". "));
}

function refersTo(schema) {
  return JSON.stringify(schema).includes('"$ref"');
}

// --- requests ------------------------------------------------------------------------------------

function parameterRow(api, parameter) {
  const { name, required = false, description } = parameter;
  const schema = resolve(api, parameter.schema);
  const attributes = {
    name,
    required,
    placeholder: schema.default,
    "data-in": parameter.in,
    "data-many": schema.type === "array",
  };
  const input = schema.enum
    ? make(
        "select",
        attributes,
        make("option", { value: "" }, ""),
        schema.enum.map((word) => make("option", {}, word)),
      )
    : make("input", { ...attributes, autocomplete: "off", spellcheck: "false" });
  if (schema.type === "array") input.placeholder = "one, another";
  return make(
    "label",
    { class: "parameter" },
    make("code", { class: "name" }, name),
    make("span", {}, parameter.in),
    input,
    make(
      "span",
      { class: "hint" },
      hint([typeText(schema), limitsText(schema)].filter(Boolean).join(", "), description),
    ),
  );
}

function bodyEditor(api, body) {
  const { schema } = body.content["application/json"];
  const text = JSON.stringify(example(api, schema), null, 2);
  const rows = Math.min(text.split("\n").length, 16);
  return make(
    "div",
    {},
    make(
      "label",
      {},
      body.required ? "Body" : "Body (may be left empty)",
      make("textarea", { name: "", rows, spellcheck: "false" }, text),
    ),
    schemaView(api, schema),
  );
}

/** The inputs of a form for one kind of parameters: path, query or header. */
function inputsIn(form, place) {
  return [...form.querySelectorAll(`[data-in="${place}"]`)];
}

/** The address that a form asks for. */
function addressOf(path, form) {
  for (const { name, value } of inputsIn(form, "path")) {
    path = path.replace(`{${name}}`, encodeURIComponent(value));
  }
  const query = inputsIn(form, "query").flatMap(({ name, value, dataset }) => {
    const values = "many" in dataset ? value.split(/\s*,\s*/) : [value];
    return values.filter(Boolean).map((each) => [name, each]);
  });
  return query.length ? `${path}?${new URLSearchParams(query)}` : path;
}

/** Headers and body of the request that a form stands for. */
function requestOf(method, form) {
  const text = form.querySelector("textarea")?.value ?? "";
  const token = byId("token").value;
  const headers = {};
  for (const { name, value } of inputsIn(form, "header")) if (value) headers[name] = value;
  if (token) headers.authorization = `Bearer ${token}`;
  if (!text.trim()) return { method, headers };
  return { method, headers: { ...headers, "content-type": "application/json" }, body: text };
}

function tryForm(api, path, method, operation) {
  const result = make("div", { class: "result", role: "status" });
  const stop = make("button", { type: "button", hidden: true }, "Stop");
  const form = make(
    "form",
    { class: "try" },
    (operation.parameters ?? []).map((parameter) => parameterRow(api, parameter)),
    operation.requestBody ? bodyEditor(api, operation.requestBody) : "",
    make("p", {}, make("button", { class: "send" }, `Send ${method.toUpperCase()}`), " ", stop),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const control = new AbortController();
    stop.onclick = () => control.abort();
    stop.hidden = false;
    const request = { ...requestOf(method.toUpperCase(), form), signal: control.signal };
    await send(addressOf(path, form), request, result);
    stop.hidden = true;
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  return [form, result];
}

/** Send a request and show its answer while it comes in: a stream has no end. */
async function send(address, request, result) {
  const began = performance.now();
  const took = () => `${Math.round(performance.now() - began)} ms`;
  result.replaceChildren(make("p", {}, "…"));
  try {
    const answer = await fetch(address, { ...request, ...OURS_ALONE });
    await showAnswer(answer, address, took, result);
  } catch (error) {
    if (error.name === "AbortError") result.append(make("p", {}, `Stopped after ${took()}.`));
    else result.replaceChildren(make("p", { class: "bad" }, `No answer: ${error.message}`));
  }
}

async function showAnswer(answer, address, took, result) {
  const time = make("span", {}, took());
  const body = make("pre", { tabindex: "0" });
  const headers = [...answer.headers].map(([name, value]) => `${name}: ${value}\n`);
  result.replaceChildren(
    make(
      "p",
      { class: answer.ok ? "good" : "bad" },
      make("b", {}, String(answer.status)),
      ` ${answer.statusText} · `,
      time,
    ),
    make("p", {}, make("code", {}, address)),
    fold({}, "Headers", () => make("pre", {}, headers)),
    body,
  );
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true };
    if (done) break;
    body.append(value);
  }
  time.textContent = took();
  const isJson = (answer.headers.get("content-type") ?? "").includes("json");
  const text = body.textContent;
  if (text === "") body.replaceWith(make("p", {}, "No body."));
  else if (isJson && text.length < LONGEST_COLOURED) {
    body.replaceChildren(
      ...prettyJson(text).map(([kind, piece]) => make("span", { class: kind }, piece)),
    );
  }
}

// --- operations ----------------------------------------------------------------------------------

/** What may be answered; every error has the same body, so it is shown once. */
function answersView(api, responses) {
  let error;
  const rows = Object.entries(responses).map(([status, response]) => {
    const { description, content = {} } = resolve(api, response);
    const [[type, { schema } = {}] = []] = Object.entries(content);
    if (Number(status) >= 400) error = schema;
    const notJson = type && type !== "application/json" ? make("code", {}, type) : "";
    const shown = schema && schema !== error ? schemaView(api, schema) : "";
    return make("li", {}, make("b", {}, status), ` ${description} `, notJson, shown);
  });
  return make(
    "ul",
    { class: "answers" },
    rows,
    error ? make("li", {}, schemaView(api, error)) : "",
  );
}

function operationView(api, prefix, path, method, operation) {
  const shown = path.slice(prefix.length);
  const title = [
    make("b", { class: `method ${method}` }, method.toUpperCase()),
    make("code", {}, shown),
    make("span", {}, operation.summary),
  ];
  const details = fold({ id: operation.operationId, class: "operation" }, title, () => [
    operation.description ? make("p", {}, prose(operation.description)) : "",
    ...tryForm(api, path, method, operation),
    make("h3", {}, "Answers"),
    answersView(api, operation.responses),
  ]);
  details.dataset.words = `${operation.tags} ${method} ${shown} ${operation.summary}`.toLowerCase();
  details.addEventListener("toggle", () => {
    if (details.open) history.replaceState(null, "", `#${details.id}`);
  });
  return details;
}

function show(api) {
  const prefix = location.pathname.replace(/\/docs$/, "");
  byId("version").textContent = `${api.info.version}, under ${prefix}`;
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const sections = api.tags.map((tag) =>
    make(
      "section",
      { id: tag.name },
      make("h2", {}, tag.name),
      make("p", {}, tag.description),
      operations
        .filter(({ operation }) => operation.tags.includes(tag.name))
        .map(({ path, method, operation }) => operationView(api, prefix, path, method, operation)),
    ),
  );
  const about = api.info.description
    .split("\n\n")
    .map((paragraph) => make("p", {}, prose(paragraph)));
  byId("resources").append(...api.tags.map((tag) => make("a", { href: `#${tag.name}` }, tag.name)));
  byId("operations").replaceChildren(make("div", { class: "about" }, about), ...sections);
}

function filter() {
  const words = byId("filter").value.toLowerCase().split(/\s+/);
  for (const section of document.querySelectorAll("section")) {
    const operations = [...section.querySelectorAll(".operation")];
    for (const operation of operations) {
      operation.hidden = !words.every((word) => operation.dataset.words.includes(word));
    }
    section.hidden = operations.every((operation) => operation.hidden);
  }
}

/** Open what the address names. */
function openNamed() {
  const named = byId(location.hash.slice(1));
  if (named?.matches("details")) named.open = true;
  named?.scrollIntoView();
}

async function start() {
  byId("token").value = sessionStorage.getItem(TOKEN_KEY) ?? "";
  byId("token").addEventListener("input", (event) =>
    sessionStorage.setItem(TOKEN_KEY, event.target.value),
  );
  byId("filter").addEventListener("input", filter);
  addEventListener("hashchange", openNamed);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.matches("input, textarea, select")) {
      event.preventDefault();
      byId("filter").focus();
    }
  });
  try {
    const answer = await fetch("openapi.json", OURS_ALONE);
    show(await answer.json());
    openNamed();
  } catch (error) {
    byId("notice").textContent = `The description cannot be loaded: ${error.message}`;
  }
}

start();
