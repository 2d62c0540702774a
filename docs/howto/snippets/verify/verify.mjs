// Verify requests of Turnkeeper with node alone; node gives the names of headers in small letters.
import { createHmac, timingSafeEqual } from "node:crypto";

// Tells whether these bytes (a Buffer) were signed with this secret within 5 minutes of now.
export function isFromTurnkeeper(secret, headers, body) {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const sentAt = headers["webhook-timestamp"] ?? "";
  if (!/^[0-9]{1,12}$/.test(sentAt) || Math.abs(Date.now() / 1000 - Number(sentAt)) > 300) return false;
  const right = createHmac("sha256", key).update(`${headers["webhook-id"] ?? ""}.${sentAt}.`).update(body).digest();
  return (headers["webhook-signature"] ?? "").split(" ").some((signature) => {
    const [version, value] = signature.split(",");
    const given = Buffer.from(value ?? "", "base64");
    return version === "v1" && given.length === right.length && timingSafeEqual(given, right);
  });
}
