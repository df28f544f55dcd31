import { explain } from '../sync-folder/print.js';
import { Session } from '../sync-folder/session.js';
import { COMMANDS } from './commands.js';
import { Prompt } from './prompt.js';

const USAGE = [
  'usage:',
  ...Object.entries(COMMANDS).map(([name, { args }]) => `vault ${[name, ...args].join(' ')}`),
];

/** The commands of a vault's keys. Secrets are never arguments: other users of the machine see those. */
async function main(): Promise<void> {
  const [name = '', ...args] = process.argv.slice(2);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command || args.length !== command.args.length) throw new Error(USAGE.join('\n  '));
  const prompt = new Prompt();
  try {
    const session = await signedIn(prompt);
    await command.run(
      { session, prompt, print: (text) => console.log(text), remark: (text) => console.error(text) },
      args,
    );
  } finally {
    prompt.close();
  }
}

async function signedIn(prompt: Prompt): Promise<Session> {
  const { BASE_URL = 'http://localhost:8787', ACCESS_TOKEN, ACCOUNT_EMAIL } = process.env;
  const baseUrl = BASE_URL.replace(/\/+$/, '');
  if (ACCESS_TOKEN !== undefined) return Session.withToken(baseUrl, ACCESS_TOKEN);
  const email = ACCOUNT_EMAIL ?? (await prompt.line('Email address of the account: '));
  const password = await prompt.secret('Password of the account: ', 'ACCOUNT_PASSWORD');
  return Session.signIn(baseUrl, { email, password });
}

main().catch((error: unknown) => {
  console.error(explain(error));
  process.exitCode = 1;
});
