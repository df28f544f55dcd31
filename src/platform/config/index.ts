export { type BackupStore, Configuration } from './configuration.js';
export { configurationOfProcess, knownVariables, loadConfiguration } from './load.js';
export { envExample } from './env-file.js';
export { OperatorError } from './operator-error.js';
export { VERSION, warningsAbout } from './warnings.js';
export { isSecureAddress } from './validators.js';
export {
  addressIn,
  isInS3,
  readUrl,
  type S3Address,
  s3Address,
  type SmtpServer,
  smtpServerIn,
} from './database-parameters.js';
export * from './data-dir-files.js';
