import { readFile } from 'node:fs/promises';

/** Resident memory of a process, in bytes (Linux): now (VmRSS; RssAnon: without files) or its peak (VmHWM). */
export async function residentBytes(
  pid: number,
  field: 'VmRSS' | 'RssAnon' | 'VmHWM' = 'VmRSS',
): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kilobytes = new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1];
  if (!kilobytes) throw new Error(`no ${field} of process ${pid}`);
  return Number(kilobytes) * 1024;
}

/** Number of pages that a process has got so far without a disk read (Linux). */
export async function pageFaults(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const minor = stat.split(') ').at(-1)?.split(' ')[7];
  if (!minor) throw new Error(`no page faults of process ${pid}`);
  return Number(minor);
}
