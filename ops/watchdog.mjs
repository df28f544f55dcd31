// Runs a command, the service, and kills it when it stops responding, so that the container engine or systemd restarts it:
// on their own, they only restart processes that have exited.
//
//   node ops/watchdog.mjs COMMAND [ARGUMENT …]
//
// After the first answer of /health, checks every WATCHDOG_INTERVAL_S seconds (10). After WATCHDOG_FAILURES failures in a
// row (6), kills the service with SIGKILL, which loses nothing acknowledged, and exits with 1. A start may take as long as
// its migrations. Passes SIGTERM and SIGINT on, and then only waits. Otherwise exits like the service.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { isAlive } from './health.mjs';

const INTERVAL_MS = Number(process.env.WATCHDOG_INTERVAL_S ?? 10) * 1_000;
const FAILURES = Number(process.env.WATCHDOG_FAILURES ?? 6);
const TIMEOUT_MS = Math.min(5_000, INTERVAL_MS);

const [command, ...args] = process.argv.slice(2);
if (command === undefined || !(INTERVAL_MS > 0) || !(FAILURES >= 1)) {
  console.error(
    'usage: watchdog.mjs COMMAND [ARGUMENT …]; WATCHDOG_INTERVAL_S and WATCHDOG_FAILURES are above 0',
  );
  process.exit(2);
}

const service = spawn(command, args, { stdio: 'inherit' });
let failures;
let isStopping = false;
let isKilled = false;

for (const signal of ['SIGTERM', 'SIGINT'])
  process.on(signal, () => {
    isStopping = true;
    service.kill(signal);
  });

service.once('error', (error) => {
  console.error(`${command} cannot be run: ${error.message}`);
  process.exit(127);
});
service.once('exit', (code, signal) =>
  process.exit(isKilled ? 1 : (code ?? 128 + constants.signals[signal])),
);
setTimeout(look, INTERVAL_MS);

async function look() {
  const begun = performance.now();
  if (await isAlive(process.env, TIMEOUT_MS)) {
    if (failures === undefined) say('info', 'the service answers /health and is watched from now on');
    failures = 0;
  } else if (failures !== undefined) failures += 1;
  if (isStopping) return;
  if (failures < FAILURES) setTimeout(look, Math.max(0, INTERVAL_MS - (performance.now() - begun)));
  else if (failures === undefined) setTimeout(look, INTERVAL_MS);
  else kill();
}

function kill() {
  say(
    'fatal',
    `the service has not answered /health ${failures} times in a row: it is killed, to be restarted`,
  );
  isKilled = true;
  service.kill('SIGKILL');
}

/** In the format of the service's log lines. */
function say(level, message) {
  console.error(JSON.stringify({ level, time: new Date().toISOString(), message }));
}
