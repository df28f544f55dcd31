/** The types are those of Node.js 20, the oldest version that the service supports; the tests run on 24. */
const { threadCpuUsage } = process as typeof process & { readonly threadCpuUsage: typeof process.cpuUsage };

const sum = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;

/** Processor time of this thread so far, in ms, independent of other processes. */
export const threadMs = (): number => sum(threadCpuUsage());

/** The same for all threads of this process. */
export const processMs = (): number => sum(process.cpuUsage());
