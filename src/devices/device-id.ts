/** 1–128 visible ASCII characters. What a device calls itself; it need not be registered. */
export const DEVICE_ID = /^[\x21-\x7e]{1,128}$/;
