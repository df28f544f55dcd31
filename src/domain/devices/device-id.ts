import type { FastifyRequest } from 'fastify';
import { BadRequest } from '../../platform/http/index.js';

/** 1–128 visible ASCII characters. The device chooses its id, and need not be registered. */
export const DEVICE_ID = /^[\x21-\x7e]{1,128}$/;
export const DEVICE_ID_RULE = 'must be 1 to 128 visible ASCII characters';

export const isDeviceId = (value: unknown): value is string =>
  typeof value === 'string' && DEVICE_ID.test(value);

/** The value of `X-Device-Id`; undefined without one. @throws BadRequest */
export function deviceIdOf({ headers }: FastifyRequest): string | undefined {
  const deviceId = headers['x-device-id'];
  if (deviceId === undefined || isDeviceId(deviceId)) return deviceId;
  throw new BadRequest(`X-Device-Id ${DEVICE_ID_RULE}`);
}
