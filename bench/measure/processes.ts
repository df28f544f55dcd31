import { readdir, readFile } from 'node:fs/promises';

/** The ids of a process and its descendants. Process figures are available on Linux only; elsewhere they are NaN. */
export async function familyOf(pid: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc').catch((): string[] => [])) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : '';
    const parent = /^\S+ \(.*\) \S (\d+)/s.exec(stat)?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const family = new Set([pid]);
  for (let size = 0; size < family.size;) {
    size = family.size;
    for (const [child, parent] of parents) if (family.has(parent)) family.add(child);
  }
  return [...family];
}

/** Microseconds of CPU time that processes use while `work` runs. Processes that end meanwhile are left out. */
export async function processorMicros(
  pids: () => number[] | Promise<number[]>,
  work: () => Promise<unknown>,
): Promise<number> {
  return sum((await spentOn(pids, work)).values());
}

/** The same per process. */
export async function spentOn(
  pids: () => number[] | Promise<number[]>,
  work: () => Promise<unknown>,
): Promise<ReadonlyMap<number, number>> {
  const before = await processorTimes(await pids());
  await work();
  const after = await processorTimes(await pids());
  return new Map([...after].map(([pid, time]) => [pid, time - (before.get(pid) ?? 0)]));
}

export function sum(values: Iterable<number>): number {
  return [...values].reduce((total, value) => total + value, 0);
}

async function processorTimes(pids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  return new Map(await Promise.all(pids.map(async (pid) => [pid, await processorTime(pid)] as const)));
}

/** With nanosecond resolution; /proc/<pid>/stat counts in hundredths of a second. */
async function processorTime(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`).catch((): string[] => []);
  const times = await Promise.all(
    threads.map(async (thread) => {
      const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '');
      return Number(text.split(' ')[0]) / 1000;
    }),
  );
  return sum(times);
}

/**
 * Bytes of resident memory. `Pss` divides each page among the processes that share it, so that the values can be
 * added up: PostgreSQL's processes share their buffers.
 */
export async function memoryOf(pid: number, field: 'Rss' | 'Pss'): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(new RegExp(`^${field}: +(\\d+) kB`, 'm').exec(text)?.[1] ?? Number.NaN) * 1024;
}
