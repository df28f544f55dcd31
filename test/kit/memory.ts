import { readFile } from 'node:fs/promises';

/** Resident memory of a process now (VmRSS, without what files hold RssAnon) or at most so far (VmHWM), in bytes (Linux). */
export async function residentBytes(
  pid: number,
  field: 'VmRSS' | 'RssAnon' | 'VmHWM' = 'VmRSS',
): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kilobytes = new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1];
  if (!kilobytes) throw new Error(`no ${field} of process ${pid}`);
  return Number(kilobytes) * 1024;
}

/** Pages that a process has been given so far without a read of the disk (Linux). */
export async function pageFaults(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const minor = stat.split(') ').at(-1)?.split(' ')[7];
  if (!minor) throw new Error(`no page faults of process ${pid}`);
  return Number(minor);
}
