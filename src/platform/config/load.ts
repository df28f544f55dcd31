import { validateSync } from 'class-validator';
import { readFileSync } from 'node:fs';
import { Configuration } from './configuration.js';
import { decodeText, envFile } from './env-file.js';
import { OperatorError } from './operator-error.js';
import { type Environment, type EnvVariable, envVariables } from './validators.js';
import { isInS3 } from './database-parameters.js';
import { isUnknown, markedVariables, unknownVariables } from './warnings.js';

/** Suffix of a variable that holds the path of a file with the secret instead of the secret itself. */
const SUFFIX = '_FILE';

/**
 * Returns a variable's text. A secret can be read from a file whose path is in NAME_FILE: the environment is visible from
 * outside the process, and containers receive secrets as files.
 * @throws Error, worded for the operator, when both are set or the file cannot be read
 */
function textOf({ name, secret }: EnvVariable, environment: Environment): string | undefined {
  const text = environment[name]?.trim() || undefined;
  const path = secret ? environment[name + SUFFIX]?.trim() : undefined;
  if (!path) return text;
  if (text !== undefined) throw new Error(`${name} and ${name}${SUFFIX} are both set: set one of them`);
  return contentOf(path, name);
}

function contentOf(path: string, name: string): string {
  const file = `the file in ${name}${SUFFIX}`;
  const content = decodeText(readBytes(path, file), file).trim();
  if (content === '') throw new Error(`${file} is empty`);
  return content;
}

function readBytes(path: string, file: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new Error(`${file} cannot be read (${code})`, { cause: error });
  }
}

/**
 * The configuration of this process: its environment, plus a `.env` file in the working directory. The file may also set
 * variables that libraries read themselves, such as `PG*` and `NODE_EXTRA_CA_CERTS`.
 * @param instead variables that override the environment
 * @throws OperatorError when the file cannot be read, and as `loadConfiguration`
 */
export function configurationOfProcess(instead: Environment = {}): Configuration {
  for (const [name, value] of Object.entries(envFile('.env', knownVariables()))) process.env[name] ??= value;
  return loadConfiguration({ ...process.env, ...instead });
}

/**
 * Reads and validates the environment. An empty variable counts as unset.
 * @throws OperatorError that lists every invalid and every unknown variable at once, but no values, which may be secret
 */
export function loadConfiguration(environment: Environment): Configuration {
  const configuration = new Configuration();
  const variables = envVariables(Configuration);
  configuration.unknownVariables = unknownVariables(environment, knownVariables());
  const faults = markedVariables(environment, knownVariables());
  for (const variable of variables) {
    try {
      const text = textOf(variable, environment) ?? variable.default;
      Object.assign(configuration, { [variable.property]: parse(variable, text) });
    } catch (error) {
      faults.push((error as Error).message);
    }
  }

  const invalid = validateSync(configuration, { stopAtFirstError: true }).flatMap((fault) => {
    const name = variables.find((variable) => variable.property === fault.property)?.name ?? fault.property;
    return Object.values(fault.constraints ?? {}).map((text) => text.replaceAll(fault.property, name));
  });
  faults.push(...invalid, ...faultsOfProduction(configuration), ...incompleteGroups(configuration));
  faults.push(...unmetNeeds(configuration));
  if (faults.length > 0) {
    faults.push(...configuration.unknownVariables.map(isUnknown)); // a misspelt name often explains a missing one
    throw new OperatorError(`Bad configuration: ${faults.join('; ')}.`);
  }
  return configuration;
}

/** The names of all variables that the service reads, including NAME_FILE for secrets. */
export function knownVariables(): ReadonlySet<string> {
  const variables = envVariables(Configuration);
  const files = variables.filter(({ secret }) => secret).map(({ name }) => name + SUFFIX);
  return new Set([...variables.map(({ name }) => name), ...files]);
}

function parse(variable: EnvVariable, text: string | undefined): unknown {
  if (variable.type === Array)
    return (text ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean)
      .map((part) => variable.each?.(part) ?? part);
  if (text === undefined) return undefined;
  if (variable.type === Number) return /^\d+$/.test(text) ? Number(text) : text;
  if (variable.type === Boolean) return { true: true, false: false }[text] ?? text;
  return text;
}

/** The embedded server allows 120 connections; some are reserved for its owner and for admin commands next to the service. */
const MOST_EMBEDDED = 100;

/** Settings that need another one. */
function unmetNeeds(configuration: Configuration): string[] {
  const { databaseUrl, databasePoolSize, backupDir, backupStore } = configuration;
  const faults = [];
  if (databaseUrl === undefined && databasePoolSize > MOST_EMBEDDED)
    faults.push(`DATABASE_POOL_SIZE must be at most ${MOST_EMBEDDED} without DATABASE_URL`);
  // Without passwords and without a provider, no user could sign in.
  if (configuration.oidcOnly && !configuration.hasSingleSignOn)
    faults.push('OIDC_ONLY=true needs OIDC_ISSUER');
  // The credentials of one store are not valid for another.
  if (backupDir !== undefined && isInS3(backupDir) && backupStore === undefined)
    faults.push(
      'BACKUP_DIR=s3://… needs an S3 store: set BACKUP_S3_ENDPOINT, BACKUP_S3_ACCESS_KEY and BACKUP_S3_SECRET_KEY',
    );
  if (configuration.emailVerification === 'required' && configuration.smtpUrl === undefined)
    faults.push(
      'EMAIL_VERIFICATION=required needs SMTP_URL and MAIL_FROM: without mail no address can be confirmed',
    );
  return faults;
}

/** Anyone who has the key can sign in as any user, so it must be as hard to guess as any secret. */
const SHORTEST_DEV_LOGIN_KEY = 32;

/** Open sign-up in production must be an explicit choice: anyone could create accounts with other people's addresses. */
const OPEN_SIGN_UP =
  'anyone could sign up with an unverified email address: set SMTP_URL to have addresses confirmed, set SIGNUP_ENABLED=false ' +
  'and create accounts with `admin user create`, or set EMAIL_VERIFICATION=optional to allow this';

/** Development generates or guesses these values; in production, a guess would be a security hole. */
function faultsOfProduction(configuration: Configuration): string[] {
  if (!configuration.isProduction) return [];
  const faults = [];
  if (!configuration.authSecret) faults.push('AUTH_SECRET is required in production');
  if (!configuration.baseUrl) faults.push('BASE_URL is required in production');
  const { signupEnabled, emailVerification, smtpUrl, oidcOnly } = configuration;
  if (signupEnabled && emailVerification === undefined && !smtpUrl && !oidcOnly) faults.push(OPEN_SIGN_UP);
  if (configuration.devLoginKey && configuration.devLoginKey.length < SHORTEST_DEV_LOGIN_KEY)
    faults.push(`DEV_LOGIN_KEY must be at least ${SHORTEST_DEV_LOGIN_KEY} characters in production`);
  return faults;
}

/** Settings that must be made together. */
const TOGETHER: readonly (readonly (keyof Configuration)[])[] = [
  ['s3Endpoint', 's3AccessKey', 's3SecretKey', 's3Bucket'],
  ['backupS3Endpoint', 'backupS3AccessKey', 'backupS3SecretKey'],
  ['vapidPublicKey', 'vapidPrivateKey', 'vapidSubject'],
  ['oidcIssuer', 'oidcClientId', 'oidcClientSecret', 'oidcName'],
  ['smtpUrl', 'mailFrom'],
];

function incompleteGroups(configuration: Configuration): string[] {
  const nameOf = new Map<string, string>(
    envVariables(Configuration).map(({ property, name }) => [property, name]),
  );
  const namesOf = (properties: readonly string[]): string =>
    properties.map((property) => nameOf.get(property)).join(', ');
  return TOGETHER.flatMap((properties) => {
    const missing = properties.filter((property) => configuration[property] === undefined);
    if (missing.length === 0 || missing.length === properties.length) return [];
    return [`${namesOf(missing)} must be set too: set all of ${namesOf(properties)}, or none`];
  });
}
