import { encode } from 'cborg';
import type { Parameter } from '../../../src/platform/api-docs/index.js';
import type { NamedOperation } from '../api-document.js';
import { sha256 } from '../workspace.js';
import { spoil } from './faults.js';
import type { Lane } from './lane.js';
import type { Sender } from './senders.js';
import { jsonOf, textOf, type Values, wellFormed } from './values.js';
import { FORM_FIELDS } from './words.js';

/** A request as it is sent. */
export interface FuzzRequest {
  readonly operation: NamedOperation;
  readonly sender: Sender;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
  /** Whether the address still belongs to the operation, so that only its documented answers are valid. */
  readonly isOnRoute: boolean;
}

/** A request under construction. */
export interface Draft {
  method: string;
  /** The path as it is sent, with encoded segments. */
  path: string;
  query: [string, string][];
  headers: [string, string][];
  body: Buffer;
  isOnRoute: boolean;
}

/** Half of all requests are valid, with unusual values; the others have one to three faults. */
export function requestOf(
  operation: NamedOperation,
  sender: Sender,
  lane: Lane,
  values: Values,
): FuzzRequest {
  const draft = inOrder(operation, lane, values);
  if (values.chance(0.5))
    for (let faults = 1 + values.below(3); faults > 0; faults--) spoil(draft, operation, lane, values);
  const query = draft.query.map(([name, value]) => `${name}=${value}`).join('&');
  return {
    operation,
    sender,
    method: draft.method,
    body: draft.body,
    isOnRoute: draft.isOnRoute,
    path: query ? `${draft.path}?${query}` : draft.path,
    headers: [...sender.headers, ...draft.headers],
  };
}

function inOrder(named: NamedOperation, lane: Lane, values: Values): Draft {
  const { operation, method, path } = named;
  const parameters = (operation.parameters ?? []).filter(({ required }) => required || values.chance(0.3));
  const of = (where: Parameter['in']): [string, string][] =>
    parameters
      .filter((parameter) => parameter.in === where)
      .map((parameter) => [parameter.name, textOf(valueOf(parameter, named, lane, values))]);
  const parts = new Map(of('path'));
  const query = of('query').map(([name, value]): [string, string] => [
    name,
    encodeURIComponent(wellFormed(value)),
  ]);
  // The query or a header must name the workspace of an asset; see below.
  const headers = of('header');
  if (operation.security.some((one) => 'keySession' in one))
    headers.push(['X-Key-Session', textOf(values.valid({ type: 'string' }, 'X-Key-Session'))]);
  if (path.startsWith('/api/assets') && ![...headers, ...query].some(([name]) => /workspace/i.test(name)))
    headers.push(['X-Workspace-Id', String(lane.known('id')[0])]);
  const { type, body } = bodyOf(named, lane, values);
  if (type) headers.push(['Content-Type', type]);
  const hash = headers.find(([name]) => name === 'X-Content-Hash');
  if (hash) hash[1] = sha256(body);
  return {
    method: method.toUpperCase(),
    path: path.replace(/\{(\w+)\}/g, (_, name: string) => encodedPart(name, parts.get(name) ?? '')),
    query,
    headers,
    body,
    isOnRoute: true,
  };
}

/** Encodes a segment; a note's path keeps its slashes. */
function encodedPart(name: string, value: string): string {
  const parts = name === 'path' ? value.split('/') : [value];
  return parts.map((part) => encodeURIComponent(wellFormed(part)) || '-').join('/');
}

function valueOf(
  { name, schema }: Parameter,
  { operation }: NamedOperation,
  lane: Lane,
  values: Values,
): unknown {
  const own = `${operation.operationId.split('.')[0]} ${name}`;
  return values.valid(schema, lane.known(own).length > 0 ? own : name);
}

function bodyOf({ operation }: NamedOperation, lane: Lane, values: Values): { type?: string; body: Buffer } {
  const [[type, content] = []] = Object.entries(operation.requestBody?.content ?? {});
  if (type === undefined) return { body: Buffer.alloc(0) };
  if (type === 'application/octet-stream') return { type, body: bytes(values) };
  if (type === 'application/cbor-seq') return { type, body: batch(lane, values) };
  if (type === 'application/x-www-form-urlencoded') return { type, body: Buffer.from(form(lane, values)) };
  const value = content?.schema ? values.valid(content.schema) : {};
  return {
    type,
    body: Buffer.from(
      jsonOf(operation.operationId === 'subscription.receivePaymentEvent' ? event(values) : value),
    ),
  };
}

/** Deterministic, with few variants, so that contents repeat. */
function bytes(values: Values): Buffer {
  const size = values.chance(0.02) ? 70_000 : values.pick([0, 1, 16, 100, 3000]);
  return Buffer.alloc(size, String(values.below(5)));
}

/** A sequence of items to upload; one in four has an invalid value. */
function batch(lane: Lane, values: Values): Buffer {
  const items = Array.from({ length: 1 + values.below(5) }, () => {
    const content = bytes(values);
    const item: Record<string, unknown> = {
      encryptedPath: values.pick(lane.known('encryptedPath')),
      contentHash: sha256(content),
      content,
    };
    if (values.chance(0.2)) item['ifMatch'] = values.pick(['*', ...lane.known('contentHash')]);
    if (values.chance(0.1)) item['ifNoneMatch'] = '*';
    if (values.chance(0.25)) item[values.pick([...Object.keys(item), 'extra'])] = values.hostile();
    return item;
  });
  return Buffer.concat(items.map(encoded));
}

function encoded(item: object): Uint8Array {
  try {
    return encode(item);
  } catch {
    return Buffer.from(jsonOf(item)); // CBOR has no such value
  }
}

function form(lane: Lane, values: Values): string {
  const fields = FORM_FIELDS.filter(
    (name) => lane.known('form').includes(`form ${name}`) || values.chance(0.4),
  );
  return fields
    .map((name) => {
      const own = lane.known(`form ${name}`);
      const known = own.length > 0 ? own : lane.known(name);
      const value =
        known.length > 0 && values.chance(0.9) ? values.pick(known) : values.valid({ type: 'string' });
      return `${name}=${encodeURIComponent(wellFormed(textOf(value)))}`;
    })
    .join('&');
}

function event(values: Values): object {
  const type = values.pick(['created', 'updated', 'deleted']);
  const subscription = { id: 'sub_1', customer: 'cus_of_nobody', status: 'active', items: { data: [] } };
  const object = values.chance(0.7)
    ? subscription
    : { id: 'in_1', customer: 'cus_of_nobody', subscription: 'sub_1' };
  return {
    id: `evt_${values.below(50)}`,
    created: 1_700_000_000 + values.below(100),
    type: `customer.subscription.${type}`,
    data: { object },
  };
}
