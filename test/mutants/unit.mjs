// Finds the code that a fault names. A unit is a class, function, constant or enum at the top of a file in src, client/src or
// crypto/src, or one member or key of it:
//
//   functionName, CONSTANT, ClassName.member, constant.key
//   folder/plan#plan     when several files declare the name: a part of the path in front of it
//   sql:put_documents    a function in an .sql file
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '..', '..');
const FOLDERS = ['src', 'client/src', 'crypto/src'];

const texts = new Map(
  FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true })
      .filter((path) => /\.(?:tsx?|sql)$/.test(path))
      .map((path) => [`${folder}/${path}`, readFileSync(join(ROOT, folder, path), 'utf8')]),
  ),
);

const known = new Map();

/** @throws unless exactly one file declares the unit, once */
export function fileOf(unit) {
  if (known.has(unit)) return known.get(unit);
  const [, fragment = '', name] = /^(?:(.*)#)?(.+)$/.exec(unit);
  const files = [...texts.keys()].filter((file) => file.includes(fragment));
  const found = files.flatMap((file) => placesOf(name, file, texts.get(file)).map(() => file));
  if (found.length === 0) throw new Error(`no file in ${FOLDERS.join(', ')} declares ${unit}`);
  if (found.length > 1) throw new Error(`${unit} is ambiguous: ${found.join(', ')}`);
  known.set(unit, found[0]);
  return found[0];
}

/** @returns the text of the file with `replace` in the place of `find` @throws unless `find` occurs once in the unit */
export function edited(text, { file, unit, find, replace }) {
  const [place] = placesOf(unit.replace(/^.*#/, ''), file, text);
  if (!place) throw new Error(`${file} does not declare ${unit}`);
  const parts = text.slice(place.start, place.end).split(find);
  if (parts.length !== 2) throw new Error(`"${find}" occurs ${parts.length - 1} times in ${unit}`);
  return text.slice(0, place.start) + parts.join(replace) + text.slice(place.end);
}

/** Where the text of a file declares a name: with decorators, without the comment before it. */
function placesOf(name, file, text) {
  if (file.endsWith('.sql')) {
    const start = name.startsWith('sql:') ? text.indexOf(`FUNCTION {${name.slice(4)}}(`) : -1;
    return start < 0 ? [] : [{ start, end: text.indexOf('$$;', start) }];
  }
  const [, outer, inner] = /^([^.]+)\.?(.*)$/.exec(name);
  if (!new RegExp(`\\b(?:class|function\\*?|const|enum) ${outer}\\b`).test(text)) return [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const declared = declarationsIn(source).filter(({ node }) => nameOf(node) === outer);
  const nodes = inner
    ? declared.flatMap(({ node }) => membersOf(node).filter((member) => nameOf(member) === inner))
    : declared.map(({ whole }) => whole);
  return nodes.map((node) => ({ start: node.getStart(source), end: node.end }));
}

function declarationsIn({ statements }) {
  return statements.flatMap((statement) => {
    if (!ts.isVariableStatement(statement))
      return isUnit(statement) ? { node: statement, whole: statement } : [];
    const { declarations } = statement.declarationList;
    return declarations.map((node) => ({ node, whole: declarations.length === 1 ? statement : node }));
  });
}

function membersOf({ members, initializer: value }) {
  if (members) return members.filter((member) => !ts.isMethodDeclaration(member) || member.body);
  while (value && (ts.isAsExpression(value) || ts.isSatisfiesExpression(value))) value = value.expression;
  return value && ts.isObjectLiteralExpression(value) ? value.properties : [];
}

/** Not the signatures of overloads. */
const isUnit = (node) =>
  ts.isClassDeclaration(node) || ts.isEnumDeclaration(node) || (ts.isFunctionDeclaration(node) && node.body);

const nameOf = (node) => (ts.isConstructorDeclaration(node) ? 'constructor' : node.name?.text);
