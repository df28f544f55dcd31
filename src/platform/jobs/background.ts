/**
 * Whether this process does by itself what is due now and then. The service does; the admin command does what it was
 * told and nothing else, so that it neither runs the nightly jobs when it takes long nor changes data in a dry run.
 */
export class Background {
  constructor(readonly isOn: boolean) {}
}
