import { Session } from '../../client/src/core/index.js';
import { sentenceOf } from '../../client/src/cli/errors.js';
import { Output } from '../../client/src/cli/output.js';
import { Prompt } from '../../client/src/cli/prompt.js';
import { COMMANDS } from './commands.js';

const USAGE = [
  'usage:',
  ...Object.entries(COMMANDS).map(([name, { args }]) => `vault ${[name, ...args].join(' ')}`),
];

/** The commands for a vault's keys. Secrets are never arguments, which other users of the machine can see. */
async function main(output: Output): Promise<void> {
  const [name = '', ...args] = process.argv.slice(2);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command || args.length !== command.args.length) {
    process.stderr.write(`${USAGE.join('\n  ')}\n`);
    process.exitCode = 1;
    return;
  }
  const prompt = new Prompt(output, process.env, false);
  try {
    await command.run({ session: await signedIn(prompt), prompt, output }, args);
  } finally {
    prompt.close();
  }
}

async function signedIn(prompt: Prompt): Promise<Session> {
  const { BASE_URL = 'http://localhost:8787', ACCESS_TOKEN } = process.env;
  if (ACCESS_TOKEN !== undefined) return Session.withAccessToken(BASE_URL, ACCESS_TOKEN);
  const email = await prompt.line('Email address of the account: ', 'ACCOUNT_EMAIL');
  const password = await prompt.secret('Password of the account: ', 'ACCOUNT_PASSWORD');
  return Session.signIn(BASE_URL, { email, password });
}

const output = new Output({ json: false, stdout: process.stdout, stderr: process.stderr });
main(output).catch((error: unknown) => {
  output.note(sentenceOf(error));
  process.exitCode = 1;
});
