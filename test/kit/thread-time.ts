/** The types are those of Node.js 20, the oldest that the service runs on; the tests run on 24. */
const { threadCpuUsage } = process as typeof process & { readonly threadCpuUsage: typeof process.cpuUsage };

const sum = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;

/** Processor time so far in ms, which other processes do not change: of this thread alone. */
export const threadMs = (): number => sum(threadCpuUsage());

/** The same of all threads of this process. */
export const processMs = (): number => sum(process.cpuUsage());
