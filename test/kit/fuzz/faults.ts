import type { NamedOperation } from '../api-document.js';
import type { Lane } from './lane.js';
import type { Draft } from './request.js';
import { jsonOf, textOf, type Values, wellFormed } from './values.js';
import { HOSTILE_HEADERS, HOSTILE_PARTS, HOSTILE_TYPES, METHODS, STRAY_HEADERS } from './words.js';

type Fault = (draft: Draft, operation: NamedOperation, lane: Lane, values: Values) => void;

/** Adds one fault to a request. */
export function spoil(draft: Draft, operation: NamedOperation, lane: Lane, values: Values): void {
  const faults: Fault[] = [ofAddress, ofQuery, ofHeader, ofHeader];
  if (draft.body.length > 0) faults.push(ofBody, ofBody, ofBody, ofBody);
  values.pick(faults)(draft, operation, lane, values);
}

const ofAddress: Fault = (draft, { path }, lane, values) => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  if (values.chance(0.1) || names.length === 0) {
    draft.isOnRoute = false;
    if (values.chance(0.5)) draft.method = values.pick(METHODS);
    else
      draft.path = values.pick([
        `${draft.path}/`,
        `/${draft.path}`,
        draft.path.toUpperCase(),
        `${draft.path}%00`,
        `${draft.path};a`,
      ]);
    return;
  }
  const spoilt = values.pick(names);
  const foreign = lane.foreign(spoilt);
  const isForeign = foreign.length > 0 && values.chance(0.4);
  const part = isForeign ? String(values.pick(foreign)) : values.pick(HOSTILE_PARTS);
  const at = path.split('/').indexOf(`{${spoilt}}`);
  const parts = draft.path.split('/');
  parts[at] = part;
  draft.path = parts.join('/');
  draft.isOnRoute &&= isForeign; // other addresses may belong to no route, or to another one
};

const ofQuery: Fault = (draft, { operation }, lane, values) => {
  const names = (operation.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
  const name =
    names.length > 0 && values.chance(0.8)
      ? values.pick(names)
      : values.pick(['a', 'limit', '__proto__', 'token', '']);
  const value = values.pick([
    () => values.pick(HOSTILE_PARTS),
    () => encodeURIComponent(wellFormed(textOf(values.hostile())).slice(0, 3000)),
    () => encodeURIComponent(textOf(lane.foreign(name)[0])),
  ])();
  const key = values.chance(0.2) ? `${name}${values.pick(['[]', '[0]', '%00', '%5B%5D', '.a'])}` : name;
  if (values.chance(0.4)) draft.query = draft.query.filter(([known]) => known !== name);
  draft.query.push([key, value]);
};

const ofHeader: Fault = (draft, { operation }, lane, values) => {
  const named = (operation.parameters ?? []).filter((one) => one.in === 'header').map(({ name }) => name);
  const name = values.pick([...named, ...named, values.pick(STRAY_HEADERS), 'Content-Type']);
  if (values.chance(0.4)) draft.headers = draft.headers.filter(([known]) => known !== name);
  if (values.chance(0.15)) return;
  const value =
    name === 'Content-Type'
      ? values.pick(HOSTILE_TYPES)
      : values.pick([...HOSTILE_HEADERS, ...lane.foreign(name).map(String)]);
  draft.headers.push([name, value]);
};

const ofBody: Fault = (draft, { operation }, lane, values) => {
  const type = Object.keys(operation.requestBody?.content ?? {})[0];
  if (type !== 'application/json' || values.chance(0.15)) {
    draft.body = brokenBytes(draft.body, values);
    return;
  }
  let value: unknown;
  try {
    value = JSON.parse(draft.body.toString());
  } catch {
    return; // already invalid
  }
  const places = placesIn(value);
  const [holder, key] = places.length > 0 ? values.pick(places) : [];
  if (holder === undefined || key === undefined || values.chance(0.1)) value = values.hostile();
  else if (values.chance(0.15)) Reflect.deleteProperty(holder, key);
  else if (values.chance(0.15))
    holder[values.pick(['extra', 'userId', 'user_id', 'locked', 'version', 'constructor', ''])] =
      values.hostile();
  else holder[key] = values.chance(0.15) ? (lane.foreign(key)[0] ?? null) : values.hostile();
  draft.body = Buffer.from(jsonOf(value));
};

function brokenBytes(body: Buffer, values: Values): Buffer {
  return values.pick([
    () => body.subarray(0, values.below(body.length)),
    () => Buffer.concat([body, Buffer.from(values.pick(['}', '\u0000', ' x', ',']))]),
    () => Buffer.concat([Buffer.from('\ufeff'), body]),
    () => Buffer.from(body.toString('utf8').replaceAll('"', "'")),
    () => Buffer.from([0xff, 0xfe, 0xc0, 0x80, ...body.subarray(0, 50)]),
    () => Buffer.from('--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x'),
    () =>
      Buffer.from(
        values.pick(['', ' ', '[', '{', '"', 'null', 'true', '0', '[]', '""', '{"":', '['.repeat(5000)]),
      ),
    () => Buffer.from('[{"a":'.repeat(2000)),
  ])();
}

type Place = readonly [Record<string, unknown>, string];

/** Places in a value that can be replaced; only some of a long value. */
function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder)
    .slice(0, 20)
    .flatMap((key): Place[] => [[holder, key], ...placesIn(holder[key])]);
}
