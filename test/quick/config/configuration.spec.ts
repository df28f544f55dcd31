import { loadConfiguration, OperatorError, warningsAbout } from '../../../src/platform/config/index.js';

describe('the configuration', () => {
  it('has a default for everything in development', () => {
    const configuration = loadConfiguration({});
    expect(configuration).toMatchObject({
      port: 8787,
      host: '127.0.0.1',
      dataDir: './data',
      databaseUrl: undefined,
      databasePoolSize: 10,
      signupEnabled: true,
      trustProxy: false,
      trustedOrigins: [],
      subscriptions: 'on',
      billingGraceDays: 7,
      maxFileBytes: 100 * 1024 * 1024,
      inlineBlobBytes: 64 * 1024,
      rateLimitPerMinute: 1200,
      logLevel: 'info',
    });
    expect(configuration.publicUrl).toBe('http://localhost:8787');
  });

  it('treats an empty variable as unset, and splits lists at commas', () => {
    const configuration = loadConfiguration({
      PORT: ' ',
      TRUSTED_ORIGINS: 'https://a.example, https://b.example',
    });
    expect(configuration.port).toBe(8787);
    expect(configuration.trustedOrigins).toEqual(['https://a.example', 'https://b.example']);
  });

  it.each([
    ['HTTPS://Notes.Example.org:443/', 'https://notes.example.org'],
    ['http://LOCALHOST:80', 'http://localhost'],
    ['https://notes.example.org:8443', 'https://notes.example.org:8443'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['http://[2001:DB8::1]:3000', 'http://[2001:db8::1]:3000'],
    ['app://obsidian.md', 'app://obsidian.md'],
    ['Capacitor://localhost/', 'capacitor://localhost'],
    [
      'chrome-extension://cjpalhdlnbpafiamejdnhcphjbkeiagm',
      'chrome-extension://cjpalhdlnbpafiamejdnhcphjbkeiagm',
    ],
    ['http://tauri.localhost', 'http://tauri.localhost'],
  ])('normalises the origin %s to %s, as browsers send it', (text, origin) => {
    expect(loadConfiguration({ TRUSTED_ORIGINS: text }).trustedOrigins).toEqual([origin]);
  });

  it('reports all faults together, by the names of their variables and never with a value', () => {
    const load = (): unknown =>
      loadConfiguration({
        PORT: '99999',
        DATABASE_URL: 'mysql://root:hunter2@db/x',
        AUTH_SECRET: 'short-secret',
        SIGNUP_ENABLED: 'maybe',
        BASE_URL: 'https://sync.example.org/path',
        DATABASE_POOL_SIZE: '1e3',
      });
    expect(load).toThrow(OperatorError);
    expect(load).toThrow(/PORT .*DATABASE_URL .*AUTH_SECRET .*SIGNUP_ENABLED /s);
    expect(load).toThrow(/BASE_URL/);
    expect(load).toThrow(/DATABASE_POOL_SIZE/);
    expect(load).not.toThrow(/hunter2|short-secret|maybe|99999/);
  });

  it('limits the pool to 100 connections with the embedded server', () => {
    expect(() => loadConfiguration({ DATABASE_POOL_SIZE: '101' })).toThrow(
      'DATABASE_POOL_SIZE must be at most 100 without DATABASE_URL',
    );
    expect(loadConfiguration({ DATABASE_POOL_SIZE: '100' }).databasePoolSize).toBe(100);
    const own = { DATABASE_URL: 'postgres://db/x', DATABASE_POOL_SIZE: '200' };
    expect(loadConfiguration(own).databasePoolSize).toBe(200);
  });

  it('has no default for a secret in production', () => {
    expect(() => loadConfiguration({ NODE_ENV: 'production' })).toThrow(/AUTH_SECRET.*BASE_URL/);
    const production = {
      NODE_ENV: 'production',
      AUTH_SECRET: 'x'.repeat(32),
      BASE_URL: 'https://sync.example.org',
      SIGNUP_ENABLED: 'false',
    };
    expect(loadConfiguration(production).isProduction).toBe(true);
    expect(loadConfiguration({ DEV_LOGIN_KEY: 'key' }).devLoginKey).toBe('key');
    expect(() => loadConfiguration({ ...production, DEV_LOGIN_KEY: 'key' })).toThrow(
      'DEV_LOGIN_KEY must be at least 32 characters in production.',
    );
  });

  it('requires a decision about sign-up in production, and reports all other faults with it', () => {
    const production = {
      NODE_ENV: 'production',
      AUTH_SECRET: 'x'.repeat(32),
      BASE_URL: 'https://sync.example.org',
    };
    const fault =
      'anyone could sign up with an unverified email address: set SMTP_URL to have addresses confirmed, set SIGNUP_ENABLED=false ' +
      'and create accounts with `admin user create`, or set EMAIL_VERIFICATION=optional to allow this';
    expect(() => loadConfiguration(production)).toThrow(`Bad configuration: ${fault}.`);
    expect(() => loadConfiguration({ NODE_ENV: 'production', SIGNUP_ENABLED: 'true' })).toThrow(
      `Bad configuration: AUTH_SECRET is required in production; BASE_URL is required in production; ${fault}.`,
    );
    expect(loadConfiguration({ ...production, SIGNUP_ENABLED: 'false' }).signupEnabled).toBe(false);
    expect(loadConfiguration({ ...production, EMAIL_VERIFICATION: 'optional' }).signupEnabled).toBe(true);
    expect(() => loadConfiguration({ EMAIL_VERIFICATION: 'yes' })).toThrow(
      'Bad configuration: EMAIL_VERIFICATION must be required or optional.',
    );
    expect(() => loadConfiguration({ EMAIL_VERIFICATION: 'required' })).toThrow(
      'Bad configuration: EMAIL_VERIFICATION=required needs SMTP_URL and MAIL_FROM: without mail no address can be confirmed.',
    );
    const mail = { SMTP_URL: 'smtp://mail.example.org', MAIL_FROM: 'sync@example.org' };
    expect(loadConfiguration({ ...production, ...mail }).requiresVerifiedEmail).toBe(true);
  });

  it('reports refused callback addresses and a schedule that never matches with all other faults', () => {
    const faults = {
      NODE_ENV: 'production',
      AUTH_SECRET: 'short',
      DATABASE_URL: 'postgres://root:hunter2@db:none/x',
      REDIS_URL: 'redis://db:none',
      EDITOR_CALLBACK_URL: 'http://localhost:3000/cb',
      ALT_CALLBACK_URL: 'https://hunter2@editor.example.org/cb',
      RETENTION_CRON: '0 3 31 2 *',
    };
    const load = (): unknown => loadConfiguration(faults);
    expect(load).toThrow(
      'AUTH_SECRET must be longer than or equal to 32 characters; ' +
        'RETENTION_CRON never matches a time; set five fields (minute, hour, day, month, weekday) such as "0 3 * * *"; ' +
        'EDITOR_CALLBACK_URL must be an https URL (http://localhost is allowed in development only); ' +
        'ALT_CALLBACK_URL must be a URL without user, password or fragment; ' +
        'BASE_URL is required in production; anyone could sign up',
    );
    expect(load).toThrow(/DATABASE_URL cannot be parsed.*REDIS_URL cannot be parsed/);
    expect(load).not.toThrow(/hunter2/);
  });

  it.each(['postgres://root:p%20w@db:5432/x?sslmode=require', 'postgresql://root:pw@/x?host=%2Ftmp'])(
    'accepts the database %s',
    (url) => {
      expect(loadConfiguration({ DATABASE_URL: url }).databaseUrl).toBe(url);
    },
  );

  it.each([
    ['sslmode=requires', 'has a parameter sslmode that is not one of disable, allow, prefer'],
    ['ssl=yes', 'has a parameter ssl that is not one of'],
    ['ssl=1&ssl=hunter2', 'has a parameter ssl that is not one of'],
    ['sslnegotiation=none', 'has a parameter sslnegotiation that is not one of postgres, direct'],
    ['sslnegotiation=direct&sslmode=disable', 'has sslnegotiation=direct, which needs TLS'],
    ['sslmode=verify-ca&uselibpqcompat=true', 'must have the parameter sslrootcert'],
    ['replication=database', 'has a parameter replication that is not off'],
    ['port=hunter2', 'has a parameter port that is not a port'],
    ['connect_timeout=soon', 'has a parameter connect_timeout that is not a whole number of seconds'],
    ['statement_timeout=5s', 'has a parameter statement_timeout that is not a whole number of milliseconds'],
    ['lock_timeout=-5', 'has a parameter lock_timeout that is not a whole number of milliseconds'],
  ])('refuses a DATABASE_URL with %s, which the driver cannot use', (query, words) => {
    const load = (): unknown => loadConfiguration({ DATABASE_URL: `postgres://root:hunter2@/x?${query}` });
    expect(load).toThrow(`Bad configuration: DATABASE_URL ${words}`);
    expect(load).not.toThrow(/hunter2/);
  });

  it.each([
    'postgres://root:%ff@db/x',
    'postgres://r%fft@db/x',
    'postgres://root:pw@db/%ff',
    'redis://:%ff@redis',
  ])('refuses %s, whose percent-encoding is broken, with advice', (url) => {
    const name = url.startsWith('redis') ? 'REDIS_URL' : 'DATABASE_URL';
    expect(() => loadConfiguration({ [name]: url })).toThrow(
      `Bad configuration: ${name} cannot be parsed; percent-encode`,
    );
  });

  it.each(['61 3 * * *', 'a b c d e', '0 0 30 2 *', '0 3 * * 9', '0 0 3 * * *', '@daily'])(
    'refuses RETENTION_CRON=%s in one sentence that names it',
    (expression) => {
      expect(() => loadConfiguration({ RETENTION_CRON: expression })).toThrow(
        /^Bad configuration: RETENTION_CRON .*\.$/,
      );
    },
  );

  it('has no scheduled backups without BACKUP_DIR, and checks their settings', () => {
    expect(loadConfiguration({})).toMatchObject({
      backupDir: undefined,
      backupCron: '0 4 * * *',
      backupKeep: 7,
    });
    expect(() => loadConfiguration({ BACKUP_CRON: '0 3 31 2 *', BACKUP_KEEP: '0' })).toThrow(
      /BACKUP_CRON never matches a time; .*; BACKUP_KEEP must be a whole number from 1 to 1000\.$/,
    );
  });

  const BACKUP_S3 = {
    BACKUP_S3_ENDPOINT: 'https://backups.example.org',
    BACKUP_S3_ACCESS_KEY: 'a',
    BACKUP_S3_SECRET_KEY: 'b',
  };
  const BLOBS = {
    S3_ENDPOINT: 'https://s3.example.org',
    S3_ACCESS_KEY: 'c',
    S3_SECRET_KEY: 'd',
    S3_BUCKET: 'blobs',
    S3_REGION: 'eu-1',
  };

  it('reads the backup store from its own settings or else from those of the blobs, never both', () => {
    const BACKUP_DIR = 's3://backups/a/b';
    expect(loadConfiguration({ BACKUP_DIR, ...BLOBS }).backupStore).toEqual({
      ...{ isOwn: false, endpoint: 'https://s3.example.org', accessKey: 'c', secretKey: 'd', region: 'eu-1' },
    });
    expect(loadConfiguration({ BACKUP_DIR, ...BLOBS, ...BACKUP_S3 }).backupStore).toEqual({
      ...{ isOwn: true, endpoint: 'https://backups.example.org', accessKey: 'a', secretKey: 'b' },
      region: 'us-east-1',
    });
    expect(() => loadConfiguration({ BACKUP_DIR })).toThrow(
      'Bad configuration: BACKUP_DIR=s3://… needs an S3 store: set BACKUP_S3_ENDPOINT, BACKUP_S3_ACCESS_KEY and BACKUP_S3_SECRET_KEY.',
    );
    expect(() =>
      loadConfiguration({ BACKUP_DIR, ...BLOBS, BACKUP_S3_ENDPOINT: 'https://b.example' }),
    ).toThrow('BACKUP_S3_ACCESS_KEY, BACKUP_S3_SECRET_KEY must be set too');
  });

  it('warns only of backups that are in the bucket of the blobs', () => {
    const warnings = (BACKUP_DIR: string, more = {}): string[] =>
      warningsAbout(loadConfiguration({ BACKUP_DIR, ...BLOBS, ...more }));
    expect(warnings('s3://blobs/backups')).toEqual([
      expect.stringMatching('BACKUP_DIR is in the bucket of the blobs'),
    ]);
    for (const elsewhere of ['s3://backups', '/blobs']) expect(warnings(elsewhere)).toEqual([]);
    expect(warnings('s3://blobs/backups', BACKUP_S3)).toEqual([]);
  });

  it.each([
    's3:/bucket',
    's3://',
    's3://b',
    's3://bucket//a',
    's3://bucket/../a',
    's3://bucket/a b',
    'S3://bucket',
  ])('refuses BACKUP_DIR=%s, with the expected form', (BACKUP_DIR) => {
    expect(() => loadConfiguration({ BACKUP_DIR, ...BLOBS })).toThrow(
      'BACKUP_DIR must be a directory or s3://bucket/prefix',
    );
  });

  it.each(['x', '1.5', '-1', '65536', '99999999999999999999'])('refuses PORT=%s, with the range', (text) => {
    expect(() => loadConfiguration({ PORT: text })).toThrow(
      'Bad configuration: PORT must be a whole number from 0 to 65535.',
    );
  });

  it.each([
    ['EDITOR_CALLBACK_URL', 'https://256.256.256.256/'],
    ['INLINE_BLOB_BYTES', String(1024 * 1024 + 1)],
    ['LOG_LEVEL', 'loud'],
    ['SUBSCRIPTIONS', 'true'],
    ['TRUSTED_ORIGINS', 'https://ok.example,not an origin'],
    ['TRUSTED_ORIGINS', 'https://ok.example/path'],
    ['TRUSTED_ORIGINS', 'https://user@ok.example'],
    ['TRUSTED_ORIGINS', 'https://*.ok.example'],
    ['TRUSTED_ORIGINS', 'https://ok.example:99999'],
    ['TRUSTED_ORIGINS', 'ok.example'],
    ['TRUSTED_ORIGINS', 'null'],
    ['TRUSTED_ORIGINS', 'file://x'],
    ['TRUSTED_ORIGINS', 'app://'],
    ['TRUSTED_ORIGINS', 'app:obsidian.md'],
    ['TRUSTED_ORIGINS', 'app://obsidian.md/index.html'],
    ['TRUSTED_ORIGINS', 'app://*'],
    ['BILLING_GRACE_DAYS', '-7'],
  ])('refuses %s=%s', (name, value) => {
    expect(() => loadConfiguration({ [name]: value })).toThrow(new RegExp(`^Bad configuration: ${name} `));
  });
});

describe('SMTP_URL and MAIL_FROM', () => {
  const load = (SMTP_URL: string, MAIL_FROM = 'sync@example.org'): unknown =>
    loadConfiguration({ SMTP_URL, MAIL_FROM });

  it.each([
    'smtp://mail.example.org',
    'smtps://user:p%40ss@mail.example.org:465',
    'smtp://relay:25?tls=off',
    'smtp://[::1]:25/',
  ])('may be %s', (url) => {
    expect(load(url)).toMatchObject({ smtpUrl: url, hasMail: true });
  });

  it.each([
    'mail.example.org',
    'http://mail.example.org',
    'smtp://',
    'smtp://user@mail.example.org',
    'smtp://user:%ff@mail.example.org',
    'smtp://mail.example.org/path',
    'smtp://mail.example.org?pool=true',
    'smtps://mail.example.org?tls=off',
  ])('are refused without printing the value: %s', (url) => {
    expect(() => load(url)).toThrow(/^Bad configuration: SMTP_URL must be smtp:/);
    expect(() => load(url)).not.toThrow(/%ff|path\.|pool/);
  });

  it.each(['sync', '<sync@example.org', 'a@b.org, c@d.org', 'Sync <a@b.org>\r\nBcc: c@d.org'])(
    'are refused with the sender %j',
    (sender) => {
      expect(() => load('smtp://mail.example.org', sender)).toThrow(/^Bad configuration: MAIL_FROM must be/);
    },
  );

  it('must be set together', () => {
    expect(() => loadConfiguration({ MAIL_FROM: 'sync@example.org' })).toThrow(
      'Bad configuration: SMTP_URL must be set too: set all of SMTP_URL, MAIL_FROM, or none.',
    );
  });
});

describe('an unknown variable that resembles a known one', () => {
  it('is reported beside a missing variable, without its value', () => {
    const load = (): unknown =>
      loadConfiguration({ S3_ENDPOINT: 'http://localhost:9000', S3_ACESS_KEY: 'hunter2' });
    expect(load).toThrow(/S3_ACCESS_KEY.*S3_ACESS_KEY is not a variable of this service\.$/);
    expect(load).not.toThrow(/hunter2/);
  });

  it.each([
    'S3_ENDPIONT',
    'RETENTION_CORN',
    'DATABASE_POOLSIZE',
    'METRICS_PROT',
    'SMTP_URLS',
    'EMAIL_VERIFY',
    'SUBSCRIPTION',
    'VAPID_PRIVATE',
  ])('is reported by name, without its value: %s', (name) => {
    const warnings = warningsAbout(loadConfiguration({ [name]: 'a-value' }));
    expect(warnings).toEqual([
      `${name} is not a variable of this service and has no effect; is it misspelt?`,
    ]);
  });

  it('is refused when it is a known one after a byte order mark', () => {
    expect(() => loadConfiguration({ '\uFEFFSIGNUP_ENABLED': 'false' })).toThrow(
      'SIGNUP_ENABLED has a byte order mark before its name; save the file it comes from as UTF-8 without one.',
    );
  });

  it.each([
    'PATH',
    'NODE_OPTIONS',
    'REDIS_PORT_6379_TCP_ADDR',
    'DATABASE_SERVICE_HOST',
    'LOGNAME',
    'MAX_WORKERS',
  ])('is not a variable of other programs: %s', (name) => {
    expect(warningsAbout(loadConfiguration({ [name]: 'x' }))).toEqual([]);
  });
});

describe('the OpenID Connect provider', () => {
  const OIDC = {
    OIDC_ISSUER: 'https://auth.example.org/realms/home',
    OIDC_CLIENT_ID: 'sync',
    OIDC_CLIENT_SECRET: 'a-secret',
    OIDC_NAME: 'Home',
  };

  it('is off by default', () => {
    const { hasSingleSignOn, oidcOnly } = loadConfiguration({});
    expect({ hasSingleSignOn, oidcOnly }).toEqual({ hasSingleSignOn: false, oidcOnly: false });
  });

  it.each(Object.keys(OIDC))('needs all of its settings: %s', (name) => {
    expect(() => loadConfiguration({ ...OIDC, [name]: '' })).toThrow(
      `${name} must be set too: set all of OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_NAME, or none`,
    );
  });

  it.each([
    'https://auth.example.org',
    'https://auth.example.org/application/o/sync/',
    'http://localhost:9000',
    'http://127.0.0.1:9000',
    'http://[::1]:9000',
  ])('may be at %s', (issuer) => {
    expect(loadConfiguration({ ...OIDC, OIDC_ISSUER: issuer }).oidcIssuer).toBe(issuer);
  });

  it.each([
    'http://auth.example.org',
    'http://localhost.example.org',
    'http://127.0.0.1.example.org',
    'https://user:password@auth.example.org',
    'https://auth.example.org/?realm=home',
    'https://auth.example.org/#home',
    'auth.example.org',
    'ftp://auth.example.org',
  ])('must not be at %s', (issuer) => {
    expect(() => loadConfiguration({ ...OIDC, OIDC_ISSUER: issuer })).toThrow(
      'OIDC_ISSUER must be an https address without user, password, query and fragment',
    );
  });

  it('is required by OIDC_ONLY=true', () => {
    expect(() => loadConfiguration({ OIDC_ONLY: 'true' })).toThrow('OIDC_ONLY=true needs OIDC_ISSUER');
    expect(() => loadConfiguration({ OIDC_ONLY: 'yes' })).toThrow('OIDC_ONLY must be true or false');
    expect(loadConfiguration({ ...OIDC, OIDC_ONLY: 'true' }).oidcOnly).toBe(true);
  });

  it('with OIDC_ONLY=true needs no further decision about sign-up in production', () => {
    const production = {
      NODE_ENV: 'production',
      AUTH_SECRET: 'x'.repeat(32),
      BASE_URL: 'https://sync.example.org',
      ...OIDC,
    };
    expect(() => loadConfiguration(production)).toThrow('anyone could sign up');
    expect(loadConfiguration({ ...production, OIDC_ONLY: 'true' }).signupEnabled).toBe(true);
  });
});
