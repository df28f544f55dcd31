#!/usr/bin/env node
import { EXIT, type ExitCode } from './exit-codes.js';
import { main } from './main.js';

let isLost = false;
const withOutput = (code: ExitCode): ExitCode => (isLost && code === EXIT.ok ? EXIT.failed : code);

process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') process.exit(EXIT.failed); // the reader has gone, as in `cloud-sync trash | head`
  if (!isLost) process.stderr.write(`cloud-sync: the output cannot be written (${code ?? 'unknown'})\n`);
  isLost = true; // a log on a full disk does not end `watch`
  process.exitCode = EXIT.failed;
});
process.stderr.on('error', () => undefined); // notes that cannot be shown are lost

process.exitCode = withOutput(await main(process.argv.slice(2)));
