import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Frame {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

interface CpuProfile {
  readonly nodes: readonly Frame[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export interface Share {
  readonly name: string;
  /** Share of the busy time of the process. */
  readonly percent: number;
  readonly microsPerOperation: number;
}

/** Time spent by a process, by area and by function. */
export interface Profile {
  readonly areas: Share[];
  readonly functions: Share[];
}

/** Maps code to an area by its URL; the first match counts. */
const AREAS: readonly (readonly [pattern: RegExp, area: string])[] = [
  [/src\/(access|domain\/(?:auth|billing|workspaces)|platform\/(?:kill-switch|limits))[/.]/, 'guards: $1'],
  [/src\/([a-z-]+(?:\/[a-z-]+)?)\//, 'src/$1'],
  [/node_modules\/(pg|pg-[a-z]+|postgres-[a-z]+)\//, 'pg client'],
  [/node_modules\/(typeorm)\//, 'typeorm'],
  [/node_modules\/(@nestjs\/[a-z-]+|rxjs|reflect-metadata)\//, 'nest: $1'],
  [/node_modules\/(fastify|find-my-way|avvio|light-my-request|fast-json-stringify)\//, 'fastify'],
  [/node_modules\/(jose)\/|webapi\/(?:lib|jwt|jws)/, 'guards: verifying the JWT'],
  [/node_modules\/(uuid)\//, 'uuid'],
  [/node_modules\/([^/]+)\//, '$1'],
  [/node:internal\/crypto/, 'node: crypto'],
  [/node:(_http|internal\/http)/, 'node: http'],
  [/node:(net|internal\/stream_base|internal\/net|dgram)/, 'node: sockets'],
  [/node:(stream|internal\/streams|events)/, 'node: streams and events'],
  [/node:(internal\/)?fs/, 'node: files'],
  [
    /node:internal\/(timers|process|async_hooks)|node:async_hooks|node:timers|node:diagnostics/,
    'node: ticks, timers, async context',
  ],
  [/node:(buffer|internal\/buffer)/, 'node: buffers'],
  [/node:(.*)/, 'node: other'],
];

/**
 * Reads the profile that `--cpu-prof` has written to a directory.
 * @param from start of the relevant part, as `process.hrtime` in microseconds; `to` is its end
 */
export async function readProfile(
  directory: string,
  [from, to]: readonly [number, number],
  operations: number,
): Promise<Profile> {
  const [file] = (await readdir(directory)).filter((name) => name.endsWith('.cpuprofile'));
  const profile = JSON.parse(await readFile(join(directory, file ?? ''), 'utf8')) as CpuProfile;
  const frames = new Map(profile.nodes.map((frame) => [frame.id, frame]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])),
  );
  const [areas, functions] = [new Map<string, number>(), new Map<string, number>()];
  let [now, busy] = [profile.startTime, 0];
  profile.samples.forEach((id, index) => {
    const micros = profile.timeDeltas[index + 1] ?? 0;
    now += profile.timeDeltas[index] ?? 0;
    const frame = frames.get(id);
    if (!frame || now < from || now > to || frame.callFrame.functionName === '(idle)') return;
    busy += micros;
    add(areas, areaOf(frame, frames, parents), micros);
    add(functions, nameOf(frame), micros);
  });
  const shares = (sums: Map<string, number>): Share[] => sharesOf(sums, busy, operations);
  return { areas: shares(areas), functions: shares(functions) };
}

function add(sums: Map<string, number>, name: string, micros: number): void {
  sums.set(name, (sums.get(name) ?? 0) + micros);
}

function sharesOf(sums: Map<string, number>, busy: number, operations: number): Share[] {
  return [...sums]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, micros]) => ({
      name,
      percent: (micros / busy) * 100,
      microsPerOperation: micros / operations,
    }));
}

/** Attributes native code and Node's own code to the package that called them, where that is more informative. */
function areaOf(leaf: Frame, frames: Map<number, Frame>, parents: Map<number, number>): string {
  const own = leaf.callFrame.functionName;
  if (own === '(garbage collector)') return 'garbage collector';
  if (own === '(program)') return 'native code outside JavaScript';
  const stack: string[] = [];
  for (let frame: Frame | undefined = leaf; frame; frame = frames.get(parents.get(frame.id) ?? NaN)) {
    if (frame.callFrame.url) stack.push(frame.callFrame.url);
  }
  const area = stack.map(areaAt).find((found) => found !== undefined) ?? 'native code';
  if (area === 'node: crypto') {
    if (stack.some((url) => /webapi\/|node_modules\/jose/.test(url))) return 'guards: verifying the JWT';
    return stack.some((url) => /node_modules\/uuid/.test(url)) ? 'uuid' : 'hashing and random bytes';
  }
  if (!/^node: (sockets|streams|buffers)/.test(area) && !/^write/.test(own)) return area;
  if (stack.some((url) => /node_modules\/pg[-/]/.test(url)))
    return 'pg client: writing and reading its sockets';
  return stack.some((url) => /node:_http/.test(url)) ? 'node: http, writing and reading its sockets' : area;
}

function areaAt(url: string): string | undefined {
  for (const [pattern, area] of AREAS) {
    const found = pattern.exec(url);
    if (found) return area.replace('$1', found[1] ?? '');
  }
  return undefined;
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: Frame): string {
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  const where = path.replace(/^.*\/(?=node_modules\/|dist\/)/, '').replace(/^dist\//, '');
  return `${functionName || '(anonymous)'} ${where ? `${where}:${lineNumber + 1}` : '(native)'}`;
}
